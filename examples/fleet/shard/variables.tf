variable "shard" {
  description = "Which hosts of the inventory this state has. The name of its database is the same."
  type        = string

  validation {
    condition     = contains(values(jsondecode(file(var.inventory)).hosts)[*].shard, var.shard)
    error_message = "No host of the inventory is in this shard. With the state of another shard, a plan would destroy all that is in it."
  }
}

variable "inventory" {
  description = "The hosts of all shards."
  type        = string
  default     = "../inventory.json"
}

variable "backup_dir" {
  description = "Where the firmware of each card is kept before a burn. It must outlive the machine that runs this: a runner's own disk is gone with the runner."
  type        = string
}

variable "reboot" {
  description = "Whether an apply may restart the hosts, so that their cards run what was written."
  type        = bool
  default     = false
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
