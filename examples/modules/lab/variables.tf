variable "cards" {
  description = "The cards of the lab, several a host if there are. host is a key of the provider's hosts map; without it, the key of the card is. port is the cabled one, and address is that of its IPoIB interface; addresses has more of them, by port. image is firmware for this card alone, such as a target of infiniband_firmware_catalog. allow takes each consent that a refusal prints. What is left out is not managed."
  type = map(object({
    host          = optional(string)
    pci_address   = string
    serial_number = optional(string)
    part_number   = optional(string)
    base_mac      = optional(string)
    image         = optional(object({ source = string, sha256 = string, member = optional(string), psid = optional(string), version = optional(string) }))
    link_types    = optional(map(string))
    port          = optional(number, 1)
    address       = optional(string)
    addresses     = optional(map(list(string)), {})
    allow = optional(object({
      psid_change     = optional(object({ from = string, to = string }))
      downgrade       = optional(object({ from = string, to = string }))
      branch_change   = optional(object({ from = string, to = string }))
      reinstall       = optional(string)
      other_board     = optional(string)
      unproven_flash  = optional(string)
      guid_change     = optional(object({ from = list(string), to = list(string) }))
      other_cards     = optional(list(string))
      adopt_files     = optional(list(string))
      adopt_interface = optional(string)
      adopt_without   = optional(list(string))
      keep_interface  = optional(string)
      private_mtu     = optional(number)
      management_path = optional(list(string))
      last_manager    = optional(string)
      equal_priority  = optional(number)
    }), {})
  }))
  nullable = false

  validation {
    condition     = length(var.cards) == length(distinct([for name, card in var.cards : "${coalesce(card.host, name)}/${card.pci_address}"]))
    error_message = "Two cards have one place: the same host and pci_address."
  }
  validation {
    condition     = alltrue(flatten([for card in values(var.cards) : [for port in concat([tostring(card.port)], keys(card.addresses), keys(coalesce(card.link_types, {}))) : contains(["1", "2"], port)]]))
    error_message = "A port is 1 or 2."
  }
  validation {
    condition     = alltrue(flatten([for card in values(var.cards) : [for address in concat(compact([card.address]), flatten(values(card.addresses))) : can(cidrhost(address, 0))]]))
    error_message = "An address needs the length of its prefix, as in 172.16.0.20/24."
  }
}

variable "chip" {
  description = "The chip that each card must have, such as ConnectX-3 Pro. Another one fails the plan."
  type        = string
  default     = null
}

variable "image" {
  description = "Firmware for all cards: a .bin file on this machine or an https address, its SHA-256, and the member of an archive. Without it nothing is burned."
  type        = object({ source = string, sha256 = string, member = optional(string), psid = optional(string), version = optional(string) })
  default     = null

  validation {
    condition     = var.image == null || can(regex("^[0-9A-Fa-f]{64}$", var.image.sha256))
    error_message = "sha256 has 64 digits, as sha256sum prints them."
  }
}

variable "on_destroy" {
  description = "What a destroy does with burned firmware: keep leaves it, restore burns back what each card had before."
  type        = string
  default     = "keep"
}

variable "allow" {
  description = "Consents to a burn, as a refusal prints them, for every card without one of its own."
  type = object({
    psid_change   = optional(object({ from = string, to = string }))
    downgrade     = optional(object({ from = string, to = string }))
    branch_change = optional(object({ from = string, to = string }))
    reinstall     = optional(string)
    other_board   = optional(string)
  })
  default  = {}
  nullable = false
}

variable "link_types" {
  description = "Type by port, ib or eth, for every card without types of its own. Without it the types are not managed."
  type        = map(string)
  default     = null

  validation {
    condition     = alltrue([for type in values(coalesce(var.link_types, {})) : contains(["ib", "eth"], type)])
    error_message = "A type is ib or eth."
  }
}

variable "subnet_managers" {
  description = "Priorities of the subnet managers, by card and port, as { card = { \"1\" = 14 } }. A fabric behind a managed switch needs none."
  type        = map(map(number))
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.subnet_managers) : contains(keys(var.cards), name)])
    error_message = "A subnet manager is on a card that is not in cards."
  }
  validation {
    condition     = length(flatten([for ports in values(var.subnet_managers) : values(ports)])) == length(distinct(flatten([for ports in values(var.subnet_managers) : values(ports)])))
    error_message = "Two subnet managers have the same priority: on one fabric nobody could tell which of them is the master."
  }
}

variable "ipoib_mode" {
  description = "connected or datagram, the same on all hosts."
  type        = string
  default     = "datagram"

  validation {
    condition     = contains(["connected", "datagram"], var.ipoib_mode)
    error_message = "A mode is connected or datagram."
  }
}

variable "ipoib_mtu" {
  description = "MTU of the IPoIB interfaces, the same on all hosts: at most 65520 connected, 2044 datagram on every fabric, 9216 with TrueNAS."
  type        = number
  default     = 2044
}
