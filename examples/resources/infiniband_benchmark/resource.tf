resource "infiniband_benchmark" "bandwidth" {
  server   = "xeon2zfs"
  client   = "intel9"
  test     = "iperf3"
  streams  = 4
  duration = "60s"
  min_gbps = 35

  # Measured again when one of these changes; add the mode of the interfaces,
  # the firmware version, or a date.
  triggers = {
    reason = "first measurement"
  }
}
