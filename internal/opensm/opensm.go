// Package opensm runs a subnet manager on one port of a host and proves by the
// port that it works.
//
// It must not trust the exit status of opensm, touch instances of others, or
// import Terraform.
package opensm

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// MaxPriority is the highest priority of an SM (InfiniBand Architecture, SMInfo).
const MaxPriority = 15

// Desired is what the configuration asks for.
type Desired struct {
	Host     string
	PortGUID ib.GUID
	Priority int // 0 to 15; the highest wins, of equals the lower port GUID
}

// Observed is what is on the host.
type Observed struct {
	Installed string // version of the package; empty if it is not installed
	Unit      string // "opensm@0xe41d2d0300e44ed1.service"
	Active    bool   // the unit runs
	Enabled   bool   // it starts at boot: opensm.service enabled and the port listed
	Listed    bool   // the port is in PORTS of /etc/default/opensm
	Managed   bool   // our drop-in is there
	Priority  int    // of our drop-in; -1 if there is none

	PortPresent bool
	Sleeping    bool   // the port is known from the card's flash only: its module is not loaded
	LinkLayer   string // "InfiniBand" or "Ethernet"
	State       string // "Active", "Initializing", …
	Physical    string // "LinkUp", "Polling", …
	LID, SMLID  uint16
	IsSM        bool // an SM is bound to the port

	// Others are the ports that other instances on this host manage.
	Others []ib.GUID
}
