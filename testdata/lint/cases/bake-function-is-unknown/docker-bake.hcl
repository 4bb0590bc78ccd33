function "cudatag" {
  params = [version]
  result = "${version}-devel-ubuntu22.04"
}
variable "CUDA" { default = "11.3.1" }
target "app" {
  args = {
    TAG = cudatag(CUDA)
  }
}
