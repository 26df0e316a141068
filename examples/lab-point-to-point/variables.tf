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
  description = "The card of each host and the address for IPoIB. The cable is in port 1 of both."
  type = map(object({
    pci_address = string
    address     = string
  }))
  default = {
    debian1 = {
      pci_address = "0000:01:00.0"
      address     = "10.0.2.1/24"
    }
    debian2 = {
      pci_address = "0000:01:00.0"
      address     = "10.0.2.2/24"
    }
  }
}

variable "subnet_manager" {
  description = "The end that runs the subnet manager: the one that restarts less often."
  type        = string
  default     = "debian1"
}
