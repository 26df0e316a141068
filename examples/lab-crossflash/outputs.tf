output "picture" {
  description = "File with a picture of the fabric."
  value       = infiniband_fabric_file.picture.file_path
}

output "links" {
  description = "The cables after the apply, with width, speed and state."
  value = [for link in data.infiniband_fabric.lab.links :
    "${link.a.end} - ${try(link.b.end, "nobody")}: ${link.width} ${link.speed} ${link.state}"
  ]
}
