import {
  to = infiniband_nv_config.intel9
  identity = {
    host        = "intel9"
    pci_address = "0000:01:00.0"
  }
}
