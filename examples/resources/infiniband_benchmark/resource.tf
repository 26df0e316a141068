resource "infiniband_benchmark" "bandwidth" {
  server   = "xeon2zfs"
  client   = "intel9"
  test     = "iperf3"
  streams  = 4
  duration = "60s"
  min_gbps = 35

  triggers = {
    client_mode = infiniband_ipoib_interface.intel9.mode
    server_mode = infiniband_ipoib_interface.xeon2zfs.mode
  }
}

output "bandwidth" {
  value = "${infiniband_benchmark.bandwidth.gbps} Gb/s over ${infiniband_benchmark.bandwidth.client_rate}"
}
