list "infiniband_guids" "lab" {
  provider = infiniband

  config {
    hosts = ["intel9", "xeon2zfs"]
  }
}
