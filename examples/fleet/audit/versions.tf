terraform {
  required_version = ">= 1.11"

  required_providers {
    infiniband = {
      source  = "ibfabric/infiniband"
      version = ">= 0.1.0"
    }
  }
}
