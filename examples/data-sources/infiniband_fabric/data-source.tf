data "infiniband_fabric" "lab" {
  host = "intel9"

  expected_links = [
    { a = "intel9/1", b = "0x0002c902004a1b00/1", min_width = "4X", min_speed = "QDR" },
    { a = "xeon2zfs/1", b = "0x0002c902004a1b00/3", min_width = "4X", min_speed = "QDR" },
  ]
}

check "fabric" {
  assert {
    condition     = length(data.infiniband_fabric.lab.differences) == 0
    error_message = join("\n", data.infiniband_fabric.lab.differences[*].message)
  }
}

output "mermaid" {
  value = data.infiniband_fabric.lab.mermaid
}
