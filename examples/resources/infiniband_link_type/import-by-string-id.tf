import {
  to = infiniband_link_type.intel9
  id = "intel9/0000:01:00.0"
}
