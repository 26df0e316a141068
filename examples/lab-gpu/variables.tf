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
  description = "The card of each server."
  type = map(object({
    pci_address = string
    address     = string
  }))
  default = {
    r720 = {
      pci_address = "0000:81:00.0" # RHEL 9
      address     = "10.20.0.11/24"
    }
    r730a = {
      pci_address = "0000:81:00.0" # RHEL 10.1
      address     = "10.20.0.12/24"
    }
    r730b = {
      pci_address = "0000:81:00.0" # RHEL 10.1
      address     = "10.20.0.13/24"
    }
  }
}

variable "subnet_manager" {
  description = "The server that runs the subnet manager."
  type        = string
  default     = "r730a"
}
