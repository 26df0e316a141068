import {
  to = infiniband_virtual_functions.cx4
  identity = {
    host        = "cx4"
    pci_address = "0000:01:00.0"
  }
}
