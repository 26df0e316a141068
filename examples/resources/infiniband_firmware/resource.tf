resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_firmware_image" "vpi" {
  host   = "intel9"
  source = "images/fw-ConnectX3Pro-vpi.bin"
}

resource "infiniband_firmware" "intel9" {
  card_id  = infiniband_card.intel9.id
  image_id = infiniband_firmware_image.vpi.id

  # The plan that lacks this prints it, with the PSIDs that it found.
  allow = { psid_change = { from = "MT_9200111023", to = "MT_9090111019" } }

  # Also needs reboot = { allowed = true } for the host in the provider block.
  activation = "reboot"

  # For a server that takes half an hour to start.
  timeouts = {
    create = "90m"
    update = "90m"
  }

  lifecycle {
    prevent_destroy = false # true keeps the resource from being forgotten by mistake
  }
}
