import {
  to = infiniband_firmware_backup.intel9
  identity = {
    host        = "intel9"
    pci_address = "0000:01:00.0"
  }
}
