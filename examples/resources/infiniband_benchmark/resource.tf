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

# One resource for pairs with different cards: the first limit that fits counts.
resource "infiniband_benchmark" "pairs" {
  for_each = toset(["xeon2zfs"])

  server  = each.key
  client  = "intel9"
  test    = "iperf3"
  streams = 4

  limits = [
    { mode = "connected", link = "FDR", min_gbps = 35 },
    { mode = "connected", link = "QDR", min_gbps = 9 },
    { mode = "datagram", min_gbps = 6 },
  ]
}
