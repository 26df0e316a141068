variable "hosts" {
  description = "How the hosts are reached. What is left out comes from ~/.ssh/config and the agent."
  type = map(object({
    address          = string
    port             = optional(number)
    user             = optional(string)
    private_key_file = optional(string)
    known_hosts_file = optional(string)
  }))
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
  description = "The card of each server, what its label says, and the address for IPoIB."
  type = map(object({
    pci_address = string
    part_number = optional(string)
    address     = string
  }))
  default = {
    dl360a = {
      pci_address = "0000:04:00.0"
      part_number = "764285-B21"
      address     = "172.16.0.1/24"
    }
    dl360b = {
      pci_address = "0000:04:00.0"
      part_number = "764285-B21"
      address     = "172.16.0.2/24"
    }
  }
}

variable "subnet_manager" {
  description = "The server that runs the subnet managers, one for each cable."
  type        = string
  default     = "dl360a"
}
