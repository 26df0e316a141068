import {
  to = infiniband_firmware.intel9
  identity = {
    host        = "intel9"
    pci_address = "0000:01:00.0"
  }
}
