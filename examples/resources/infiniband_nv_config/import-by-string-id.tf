import {
  to = infiniband_nv_config.intel9
  id = "intel9/0000:01:00.0"
}
