# Every card of every host of the provider block.
list "infiniband_card" "all" {
  provider = infiniband
}
