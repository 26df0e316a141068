import {
  to = infiniband_fabric_file.picture
  identity = {
    file_path = "./fabric.svg"
  }
}
