terraform import infiniband_port.pve3 pve3/0000:01:00.0/1
