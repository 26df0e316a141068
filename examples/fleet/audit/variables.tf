variable "inventory" {
  description = "The hosts of all shards."
  type        = string
  default     = "../inventory.json"
}

variable "private_key_file" {
  description = "Private key for all hosts; null means those of ~/.ssh/config and the agent."
  type        = string
  default     = null
}

variable "known_hosts_files" {
  description = "Files with the keys of the hosts; null means ~/.ssh/known_hosts and the system's."
  type        = list(string)
  default     = null
}
