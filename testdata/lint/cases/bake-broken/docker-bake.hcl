target "app" {
  args = {
