locals {
  # The end without the subnet manager.
  other = one(setsubtract(keys(var.cards), [var.subnet_manager]))
}

# The evidence: packets of the whole MTU pass in one piece, which they do only if both
# ends are in connected mode. It is read at every plan and takes some seconds.
data "infiniband_connectivity" "link" {
  from = var.subnet_manager
  to   = local.other

  depends_on = [module.lab]
}

check "the_whole_mtu_passes" {
  assert {
    condition     = data.infiniband_connectivity.link.mtu_ok && data.infiniband_connectivity.link.loss_percent == 0
    error_message = join("\n", data.infiniband_connectivity.link.problems[*].message)
  }
}

# How fast it is, measured once and again when one of the triggers changes. Owners of
# such cards report 6.4 Gb/s with one stream; what is below the limit is a warning
# with its likely causes.
resource "infiniband_benchmark" "link" {
  server   = local.other
  client   = var.subnet_manager
  test     = "iperf3"
  min_gbps = 5
  on_miss  = "warn"

  triggers = {
    for name, ipoib in module.lab.interfaces : name => "${ipoib.mode} ${ipoib.mtu}"
  }

  # Packets that are counted should not have to pass a measurement.
  depends_on = [data.infiniband_connectivity.link]
}

output "evidence" {
  description = "What the two hosts can send each other."
  value = {
    path_mtu = data.infiniband_connectivity.link.path_mtu
    problems = data.infiniband_connectivity.link.problems[*].message
    gbps     = infiniband_benchmark.link.gbps
    link     = infiniband_benchmark.link.client_rate
  }
}
