resource "infiniband_fabric_baseline" "lab" {
  host = "intel9"

  # After a change of the cables, or when a link is mended: another text takes what is there then.
  triggers = { accepted = "2026-11-28" }
}

data "infiniband_fabric" "lab" {
  host           = "intel9"
  expected_links = infiniband_fabric_baseline.lab.cables
  since          = infiniband_fabric_baseline.lab.reading
}

# Each plan names the cables that are missing, new, slow, flapping, or have more errors than then.
check "fabric" {
  assert {
    condition     = length(data.infiniband_fabric.lab.differences) == 0
    error_message = join("\n", data.infiniband_fabric.lab.differences[*].message)
  }
}
