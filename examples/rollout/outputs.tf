output "failure_domains" {
  description = "The rack of each host. rollout never changes all hosts of one at the same time."
  value       = { for host, card in var.cards : host => card.rack }
}

output "firmware" {
  description = "PSID and version that each card runs, and where its old firmware is."
  value       = { for host, module in module.host : host => one(values(module.firmware)) }
}
