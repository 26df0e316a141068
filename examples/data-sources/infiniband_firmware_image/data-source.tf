data "infiniband_firmware_image" "vpi" {
  source = "images/fw-ConnectX3Pro-vpi.bin"
}

output "image" {
  value = "${data.infiniband_firmware_image.vpi.psid} ${data.infiniband_firmware_image.vpi.version}"
}
