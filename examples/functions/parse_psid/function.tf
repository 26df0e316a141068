output "vendor" {
  value = provider::infiniband::parse_psid("MT_9090111019").vendor # Mellanox
}
