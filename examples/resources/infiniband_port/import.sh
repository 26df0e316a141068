terraform import infiniband_port.first intel9/0000:01:00.0/1
