resource "infiniband_ipoib_interface" "link" {
  for_each = var.cards

  host      = each.key
  port_guid = infiniband_card.card[each.key].port_guids["1"]
  mode      = "connected"
  mtu       = var.ipoib_mtu
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

variable "ipoib_mtu" {
  description = "MTU of the IPoIB interfaces, the same on both."
  type        = number
  default     = 65520
}
