# host, a slash, and the path of the file on this machine; an absolute path has its own slash
terraform import infiniband_firmware_image.vpi intel9/images/fw-ConnectX3Pro-vpi.bin
