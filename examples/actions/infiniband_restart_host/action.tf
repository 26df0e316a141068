# terraform apply -invoke=action.infiniband_restart_host.intel9
action "infiniband_restart_host" "intel9" {
  config {
    host = "intel9"
  }
}
