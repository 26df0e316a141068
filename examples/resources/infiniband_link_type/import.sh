terraform import infiniband_link_type.intel9 intel9/0000:01:00.0
