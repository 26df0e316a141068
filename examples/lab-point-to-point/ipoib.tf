# Connected mode and the large MTU are what makes these cards fast; datagram mode ends
# at 2044 with them. Both ends must agree.
resource "infiniband_ipoib_interface" "link" {
  for_each = var.cards

  host      = each.key
  port_guid = infiniband_card.card[each.key].port_guids["1"]
  mode      = "connected"
  mtu       = 65520
  addresses = [each.value.address]

  depends_on = [infiniband_opensm.link]
}

output "interfaces" {
  description = "The IPoIB interfaces, with what brings them back after a restart."
  value = {
    for name, ipoib in infiniband_ipoib_interface.link : name => {
      interface = ipoib.interface
      mode      = ipoib.mode
      mtu       = ipoib.mtu
      addresses = ipoib.addresses
      stored_in = ipoib.stored_in
    }
  }
}
