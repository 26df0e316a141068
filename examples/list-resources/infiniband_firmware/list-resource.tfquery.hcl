list "infiniband_firmware" "lab" {
  provider = infiniband

  config {
    hosts = ["intel9", "xeon2zfs"]
  }
}
