data "infiniband_adoption" "lab" {}

# mkdir -p found
# for name in cards fabric network imports; do terraform output -raw "$name" > "found/$name.tf"; done
output "cards" {
  value = lookup(data.infiniband_adoption.lab.files, "cards.tf", "")
}

output "fabric" {
  value = lookup(data.infiniband_adoption.lab.files, "fabric.tf", "")
}

output "network" {
  value = lookup(data.infiniband_adoption.lab.files, "network.tf", "")
}

output "imports" {
  value = lookup(data.infiniband_adoption.lab.files, "imports.tf", "")
}

output "not_adopted" {
  value = data.infiniband_adoption.lab.not_adopted
}
