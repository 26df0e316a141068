data "infiniband_fabric" "lab" {
  host = "intel9"
}

resource "infiniband_fabric_file" "picture" {
  file_path = "${path.root}/fabric.svg"
  content   = data.infiniband_fabric.lab.svg
}

# GitHub and GitLab draw Mermaid in Markdown.
resource "infiniband_fabric_file" "page" {
  file_path = "${path.root}/FABRIC.md"
  content   = "# The fabric\n\n```mermaid\n${data.infiniband_fabric.lab.mermaid}```\n"
}
