list "infiniband_link_type" "lab" {
  provider = infiniband

  config {
    hosts = ["intel9", "xeon2zfs"]
  }
}
