import {
  to = infiniband_fabric_file.picture
  id = "./fabric.svg"
}
