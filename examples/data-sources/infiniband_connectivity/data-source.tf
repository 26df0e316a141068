# Let it depend on the infiniband_ipoib_interface of both hosts where one
# configuration makes them.
data "infiniband_connectivity" "pair" {
  from = "intel9"
  to   = "xeon2zfs"
}

check "the_whole_mtu_passes" {
  assert {
    condition     = data.infiniband_connectivity.pair.mtu_ok && data.infiniband_connectivity.pair.loss_percent == 0
    error_message = join("\n", data.infiniband_connectivity.pair.problems[*].message)
  }
}

output "problems" {
  value = join("\n", data.infiniband_connectivity.pair.problems[*].message)
}
