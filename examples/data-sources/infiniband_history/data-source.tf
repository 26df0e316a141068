data "infiniband_history" "intel9" {
  host = "intel9"
}

# What did not end as it should, such as a change that was interrupted.
output "open" {
  value = [for c in data.infiniband_history.intel9.changes : "${c.time} ${c.what} of ${c.object}: ${c.result}"
  if c.result != "verified"]
}
