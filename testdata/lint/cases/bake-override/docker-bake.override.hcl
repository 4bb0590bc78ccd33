variable "TORCH" { default = "2.8.0" }
target "train" {
  args = { VISION = "0.23.0" }
}
