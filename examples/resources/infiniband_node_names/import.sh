terraform import infiniband_node_names.nas nas
