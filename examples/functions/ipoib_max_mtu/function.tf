output "mtu" {
  value = provider::infiniband::ipoib_max_mtu("datagram", 4096) # 4092
}
