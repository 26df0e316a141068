terraform import infiniband_card.intel9 intel9/0000:01:00.0
