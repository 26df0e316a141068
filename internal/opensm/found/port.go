package found

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// PortState is what the kernel shows of the port and of the card that has it.
type PortState struct {
	PortPresent bool
	Sleeping    bool   // the port is known from the card's flash only: its module is not loaded
	LinkLayer   string // "InfiniBand" or "Ethernet"
	State       string // "Active", "Initializing", …
	Physical    string // "LinkUp", "Polling", …
	LID, SMLID  uint16
	IsSM        fact.Bool // an SM is bound to the port
	Prefix      ib.GUID   // of its GIDs

	CardPCI ib.PCIAddress
	Driver  string // of the card
	Device  string // "mlx4_0"; empty if the card has none
	Number  int    // of the port on the device
	// UMAD is true if the module is loaded by which programs send management datagrams, Diagnostics if
	// their package is installed.
	UMAD, Diagnostics bool
	// HostPorts are all ports of the host that have a GUID.
	HostPorts []HostPort
	// NodeGUIDOf is the card that has the GUID as that of its node; empty if none has.
	NodeGUIDOf string
}

// HostPort is one port of the host.
type HostPort struct {
	PCI       ib.PCIAddress
	Number    int
	GUID      ib.GUID
	LinkLayer string
}

// placeholderLID is what ibportstate writes as LID and SM LID of a port that has
// none; it stays until a subnet manager sets the real ones.
const placeholderLID = 0x1234

// read returns the card that has the port, if it is known.
func (v *PortState) read(s *inventory.Snapshot, port ib.GUID) *inventory.Card {
	v.UMAD = s.Modules["ib_umad"]
	v.Diagnostics = s.Commands["sminfo"] || s.Packages["infiniband-diags"] != ""
	// The label of a card, ibstat and the switch show node GUIDs beside those of ports.
	for _, c := range s.Cards {
		if c.NodeGUID == port {
			v.NodeGUIDOf = c.PCI.String()
		}
		for _, p := range c.Ports {
			if !p.PortGUID.IsZero() {
				v.HostPorts = append(v.HostPorts, HostPort{c.PCI, p.Number, p.PortGUID, p.LinkLayer})
			}
		}
	}
	card, p, ok := s.CardByPortGUID(port)
	if ok {
		v.PortPresent = true
		v.LinkLayer, v.State, v.Physical = p.LinkLayer, p.State, p.Physical
		v.LID, v.SMLID, v.IsSM, v.Prefix = p.LID, p.SMLID, p.IsSM, p.Prefix
		v.CardPCI, v.Driver, v.Device, v.Number = card.PCI, card.Driver, card.RDMADevice, p.Number
		return card
	}
	if sleeping, ok := platform.FindSleepingPort(s, port); ok {
		v.Sleeping, v.LinkLayer, card = true, sleeping.LinkLayer, sleeping.Card
	}
	return card
}

// Master reports whether the SM of this port is the master now: the SM LID of the port
// is its own LID.
func (v PortState) Master() bool {
	return fact.Yes(v.IsSM) && v.State == "Active" && v.LID != 0 && v.LID == v.SMLID
}

// HasPlaceholderLID reports whether its SM LID is no subnet manager's.
func (v PortState) HasPlaceholderLID() bool { return v.SMLID == placeholderLID && v.State != "Active" }

// Link says whether something is at the other end of the cable.
func (v PortState) Link() fact.Bool {
	switch {
	case v.State == "Initializing" || v.State == "Armed" || v.State == "Active" || v.Physical == "LinkUp":
		return fact.Known(true)
	case v.State == "" && v.Physical == "":
		return fact.Unknown[bool]("its state could not be read")
	}
	return fact.Known(false)
}

// Unready says what is missing, until an apply, to ask the fabric through the port;
// empty if nothing is.
func (v PortState) Unready() string {
	switch {
	case !v.PortPresent || v.Device == "" || v.LinkLayer == "Ethernet":
		return "the port is not an InfiniBand port now"
	case !v.Diagnostics:
		return "infiniband-diags is not installed"
	case !v.UMAD:
		return "the module ib_umad is not loaded"
	}
	return ""
}
