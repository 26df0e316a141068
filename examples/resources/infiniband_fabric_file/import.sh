terraform import infiniband_fabric_file.picture ./fabric.svg
