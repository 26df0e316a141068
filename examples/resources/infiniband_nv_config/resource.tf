resource "infiniband_card" "intel9" {
  host        = "intel9"
  pci_address = "0000:01:00.0"
}

resource "infiniband_nv_config" "intel9" {
  card_id = infiniband_card.intel9.id
  settings = {
    SRIOV_EN              = true
    NUM_OF_VFS            = 8
    BOOT_OPTION_ROM_EN_P1 = false
  }
  activation = "none"
  on_destroy = "restore"
}
