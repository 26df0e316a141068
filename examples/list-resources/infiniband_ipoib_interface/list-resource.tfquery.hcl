list "infiniband_ipoib_interface" "lab" {
  provider = infiniband

  config {
    hosts = ["intel9", "xeon2zfs"]
  }
}
