import {
  to = infiniband_port.first
  identity = {
    host        = "intel9"
    pci_address = "0000:01:00.0"
    port        = 1
  }
}
