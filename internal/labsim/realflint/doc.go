// Package realflint answers mstflint on simulated hosts with the real one: the program of the operator's
// machine, at cards that exist only as the registers of the lab's model. What it burns is in the model. Linux only.
//
// It must not let the program reach a real card: of the bus there is only the host's own, and a device
// is named by its address on it.
package realflint

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Emulated names the chips that the program can read and write here.
const Emulated = "ConnectX-3, ConnectX-3 Pro, ConnectX-4, ConnectX-5, ConnectX-6, ConnectX-6 Dx or ConnectX-6 Lx"

// Emulates says whether a card is of these. The flash of a ConnectX-7 is not behind the gateway that is emulated.
func Emulates(c labsim.CardConfig) bool { return c.Fixed == nil && c.Chip.Name != card.ConnectX7.Name }
