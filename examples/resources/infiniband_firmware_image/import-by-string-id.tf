import {
  to = infiniband_firmware_image.vpi
  id = "intel9/images/fw-ConnectX3Pro-vpi.bin"
}
