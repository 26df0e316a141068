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
  description = "The server that runs the subnet manager."
  type        = string
}

variable "ipoib_mode" {
  description = "What everybody wants on a fabric of GPUs is connected mode with 65520. ConnectX-4 cannot: the plan says so. datagram is what it can."
  type        = string
  default     = "datagram"
}

variable "ipoib_mtu" {
  description = "2044 works on every fabric; 4092 needs mtu = 4096 in the partition of the subnet manager."
  type        = number
  default     = 2044
}
