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
  description = "The server that runs the subnet managers, one for each cable."
  type        = string
}
