resource "infiniband_firmware_image" "vpi" {
  host   = "intel9"
  source = "images/fw-ConnectX3Pro-vpi.bin"
}
