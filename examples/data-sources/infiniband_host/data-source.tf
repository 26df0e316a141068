data "infiniband_host" "intel9" {
  host = "intel9"
}

output "system" {
  value = "${data.infiniband_host.intel9.os}, kernel ${data.infiniband_host.intel9.kernel}"
}
