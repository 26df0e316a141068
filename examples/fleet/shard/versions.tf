terraform {
  required_version = ">= 1.11"

  required_providers {
    infiniband = {
      source  = "ibfabric/infiniband"
      version = ">= 0.1.0"
    }
  }

  # Each shard has a database of its own, which the Makefile names: within one, the first apply of a workspace locks all.
  backend "pg" {}
}
