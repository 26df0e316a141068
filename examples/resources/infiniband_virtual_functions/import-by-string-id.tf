import {
  to = infiniband_virtual_functions.cx4
  id = "cx4/0000:01:00.0"
}
