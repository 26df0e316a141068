list "infiniband_opensm" "lab" {
  provider = infiniband

  config {
    hosts = ["intel9", "xeon2zfs"]
  }
}
