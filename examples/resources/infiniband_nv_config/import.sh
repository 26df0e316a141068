terraform import infiniband_nv_config.intel9 intel9/0000:01:00.0
