variable "TORCH" { default = "2.7.1" }
target "train" {
  args = { TORCH = TORCH, VISION = "0.22.1" }
}
