resource "infiniband_card" "cx4" {
  host        = "cx4"
  pci_address = "0000:01:00.0"
}

# After SRIOV_EN and NUM_OF_VFS were set with infiniband_nv_config, and a restart.
resource "infiniband_virtual_functions" "cx4" {
  card_id = infiniband_card.cx4.id
  number  = 4

  # On InfiniBand: without it no function has a link.
  link_state = "auto"
  port_guids = { "0" = "0x0202c9fffe000001" } # the others have the defaults
}
