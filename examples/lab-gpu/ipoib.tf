resource "infiniband_ipoib_interface" "fabric" {
  for_each = var.cards

  host      = each.key
  port_guid = infiniband_card.card[each.key].port_guids["1"]
  mode      = var.ipoib_mode
  mtu       = var.ipoib_mtu
  addresses = [each.value.address]

  depends_on = [infiniband_opensm.fabric]
}

output "interfaces" {
  description = "The IPoIB interfaces."
  value = {
    for name, ipoib in infiniband_ipoib_interface.fabric : name => {
      interface = ipoib.interface
      mode      = ipoib.mode
      mtu       = ipoib.mtu
      addresses = ipoib.addresses
    }
  }
}

variable "ipoib_mode" {
  description = "What everybody wants on a fabric of GPUs is connected mode with 65520. ConnectX-4 cannot: the plan says so. datagram is what it can."
  type        = string
  default     = "datagram"
}

variable "ipoib_mtu" {
  description = "2044 works on every fabric; 4092 needs a partition with mtu=5 in the subnet manager."
  type        = number
  default     = 2044
}
