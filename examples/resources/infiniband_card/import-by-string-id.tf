import {
  to = infiniband_card.intel9
  id = "intel9/0000:01:00.0"
}
