# terraform apply -invoke=action.infiniband_run_benchmark.bandwidth
action "infiniband_run_benchmark" "bandwidth" {
  config {
    server   = "xeon2zfs"
    client   = "intel9"
    test     = "iperf3"
    streams  = 4
    min_gbps = 35
  }
}

resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_guids" "intel9" {
  card_id  = infiniband_card.intel9.id
  base_mac = "e4:1d:2d:e4:4e:d0"
}

# It measures again after each apply that updates the interface in place.
resource "infiniband_ipoib_interface" "intel9" {
  host      = "intel9"
  port_guid = infiniband_guids.intel9.port_guids["1"]
  mode      = "connected"
  addresses = ["172.16.0.20/24"]

  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.infiniband_run_benchmark.bandwidth]
    }
  }
}
