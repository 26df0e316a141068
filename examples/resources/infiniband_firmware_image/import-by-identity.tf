import {
  to = infiniband_firmware_image.vpi
  identity = {
    host   = "intel9"
    source = "images/fw-ConnectX3Pro-vpi.bin"
  }
}
