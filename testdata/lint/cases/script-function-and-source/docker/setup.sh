source versions.sh
install_torch() {
  pip install torch==2.8.0 torchvision==0.19.0
}
install_torch
pip install torch==$TORCH torchvision==0.20.1
