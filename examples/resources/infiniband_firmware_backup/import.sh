terraform import infiniband_firmware_backup.intel9 intel9/0000:01:00.0
