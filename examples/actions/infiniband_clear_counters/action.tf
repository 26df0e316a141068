# terraform apply -invoke=action.infiniband_clear_counters.all
action "infiniband_clear_counters" "all" {
  config {
    host = "intel9"
  }
}

# After a cable was changed: both of its ends.
action "infiniband_clear_counters" "cable" {
  config {
    host  = "intel9"
    ports = ["intel9/1", "0x0002c902004a1b00/1"]
  }
}
