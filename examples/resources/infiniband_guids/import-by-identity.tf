import {
  to = infiniband_guids.intel9
  identity = {
    host        = "intel9"
    pci_address = "0000:01:00.0"
  }
}
