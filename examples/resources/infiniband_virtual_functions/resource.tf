resource "infiniband_card" "cx4" {
  host        = "cx4"
  pci_address = "0000:01:00.0"
}

# After SRIOV_EN and NUM_OF_VFS were set with infiniband_nv_config, and a restart.
resource "infiniband_virtual_functions" "cx4" {
  card_id = infiniband_card.cx4.id
  number  = 4
}
