terraform import infiniband_firmware.intel9 intel9/0000:01:00.0
