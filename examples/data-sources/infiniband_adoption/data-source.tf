data "infiniband_adoption" "lab" {}

# terraform output -raw cards > cards.tf
output "cards" {
  value = data.infiniband_adoption.lab.files["cards.tf"]
}

output "imports" {
  value = data.infiniband_adoption.lab.files["imports.tf"]
}

output "not_adopted" {
  value = data.infiniband_adoption.lab.not_adopted
}
