# The names of node_name_map of the provider block, in iblinkinfo on this host.
resource "infiniband_node_names" "intel9" {
  host = "intel9"
}
