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
  description = "The cards, by host, as the module takes them."
  type        = any
}

variable "subnet_manager" {
  description = "The end that runs the subnet manager: not Arch, which has no package of opensm."
  type        = string
}

variable "ipoib_mtu" {
  description = "MTU of the IPoIB interfaces, the same on both."
  type        = number
  default     = 65520
}
