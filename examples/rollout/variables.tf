variable "hosts" {
  description = "How the hosts are reached, as the provider's hosts. What is left out comes from ~/.ssh/config and the agent."
  type        = any
}

variable "private_key_file" {
  description = "Private key for all hosts, unless a host has its own."
  type        = string
  default     = null
}

variable "known_hosts_files" {
  description = "Files with the keys of the hosts; null means ~/.ssh/known_hosts and the system's."
  type        = list(string)
  default     = null
}

variable "cards" {
  description = "The card of each host, as the module takes it, and the rack of the host."
  type        = any
}

variable "subnet_managers" {
  description = "The priorities of the subnet managers, by host. A fabric behind a managed switch needs none."
  type        = map(number)
  default     = {}
}

variable "image" {
  description = "The firmware for all cards, a .bin file on this machine."
  type        = string
}

variable "image_sha256" {
  description = "Its SHA-256, so that nobody can exchange the file unnoticed."
  type        = string
}

variable "allow" {
  description = "Consents to the burn, for every card without one of its own, as the module takes them. The refusal prints the line."
  type        = any
  default     = {}
}

variable "ipoib_mode" {
  description = "connected or datagram, the same on all hosts."
  type        = string
  default     = "datagram"
}

variable "ipoib_mtu" {
  description = "MTU of the IPoIB interfaces, the same on all hosts."
  type        = number
  default     = 2044
}
