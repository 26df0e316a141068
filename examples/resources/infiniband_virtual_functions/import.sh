terraform import infiniband_virtual_functions.cx4 cx4/0000:01:00.0
