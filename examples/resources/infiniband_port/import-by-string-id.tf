import {
  to = infiniband_port.first
  id = "intel9/0000:01:00.0/1"
}
