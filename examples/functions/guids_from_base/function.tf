output "port_guids" {
  value = provider::infiniband::guids_from_base("0xe41d2d0300e44ed0").port_guids
}
