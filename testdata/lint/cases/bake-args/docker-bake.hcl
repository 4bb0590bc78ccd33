variable "CUDA" { default = "11.8.0" }
variable TORCH {
  # bare labels are allowed
  default = "2.8.0"
}
group "default" { targets = ["train"] }
target "_common" {
  context = "."
  dockerfile = "docker/Dockerfile"
  args = { CUDA = "${CUDA}", TORCH = "0.0.0" }
}
target "train" {
  inherits = ["_common"]
  target = "train"
  args = { TORCH = TORCH }
  tags = [notequal("", CUDA) ? "x:${CUDA}" : "x"]
}
