data "infiniband_connectivity" "pair" {
  from       = "intel9"
  to         = "xeon2zfs"
  depends_on = [infiniband_ipoib_interface.intel9, infiniband_ipoib_interface.xeon2zfs]
}

check "the_whole_mtu_passes" {
  assert {
    condition     = data.infiniband_connectivity.pair.mtu_ok && data.infiniband_connectivity.pair.loss_percent == 0
    error_message = join("\n", data.infiniband_connectivity.pair.problems[*].message)
  }
}
