import {
  to = infiniband_link_type.intel9
  identity = {
    host        = "intel9"
    pci_address = "0000:01:00.0"
  }
}
