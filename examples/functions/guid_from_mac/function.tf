output "node_guid" {
  value = provider::infiniband::guid_from_mac("e4:1d:2d:e4:4e:d0") # 0xe41d2d0300e44ed0
}
