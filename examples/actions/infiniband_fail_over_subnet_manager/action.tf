# terraform apply -invoke=action.infiniband_fail_over_subnet_manager.drill
action "infiniband_fail_over_subnet_manager" "drill" {
  config {
    host      = "intel9"
    port_guid = infiniband_card.intel9.port_guids["1"]
  }
}

resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_card" "xeon2" {
  host        = "xeon2"
  pci_address = "0000:01:00.0"
}

resource "infiniband_opensm" "master" {
  host                   = "intel9"
  port_guid              = infiniband_card.intel9.port_guids["1"]
  priority               = 14
  sminfo_polling_timeout = "1s"
}

resource "infiniband_opensm" "standby" {
  host                   = "xeon2"
  port_guid              = infiniband_card.xeon2.port_guids["1"]
  priority               = 13
  sminfo_polling_timeout = "1s"
}
