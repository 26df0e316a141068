terraform import infiniband_guids.intel9 intel9/0000:01:00.0
