# Let it depend on the infiniband_ipoib_interface of the host where one
# configuration makes it.
data "infiniband_rdma_ready" "intel9" {
  host     = "intel9"
  purposes = ["programs", "nfs_client"]
}

check "ready_for_rdma" {
  assert {
    condition     = coalesce(data.infiniband_rdma_ready.intel9.ready, false)
    error_message = join("\n", data.infiniband_rdma_ready.intel9.problems[*].message)
  }
}

output "problems" {
  value = join("\n", data.infiniband_rdma_ready.intel9.problems[*].message)
}
