package linktype

import (
	"maps"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// inCardConfig is the card itself as the place of its link types, by the tool that writes it.
const inCardConfig = "mstconfig"

// Ask asks for the types of a card's ports.
type Ask struct {
	Card        cards.Card
	Request     safety.LinkTypeRequest
	PlannedPSID ib.PSID // what the card will run by then; empty if no change is planned
	// Uses names what needs InfiniBand on the port with a GUID; nil: nobody says.
	Uses   func(s *inventory.Snapshot, port ib.GUID) []string
	Before *Seen // what the ports were when the plan was made; nil for a new object
}

// Port is the type of one port, now and after the next boot.
type Port struct {
	Port       int
	Shown      string      // as the kernel shows it: "ib", "eth", "auto (ib)"; empty if nothing does
	Effective  ib.LinkType // "ib" or "eth": what is on the wire
	Configured ib.LinkType // "ib", "eth" or "auto": what was asked of the kernel
	Persistent ib.LinkType // after the next boot; empty if nothing keeps it
	// Written is what our setting of the host has, also while the initial RAM disk has an older
	// copy of it; empty if it has none.
	Written ib.LinkType
	// InCard says that only the card's own configuration decides, and only when
	// the host starts.
	InCard bool
}

// State is what was read back about a card's ports.
type State struct {
	Ports map[int]Port
	// NextBoot are the types after the next boot by port, also of ports that nothing shows: what
	// keeps them is read without a driver. A port without an entry has none that is known.
	NextBoot map[int]ib.LinkType
	StoredIn string // mechanism that keeps the types; empty if there is none
	// ByPlace is what each place says by itself, by the name of the place, for the ports
	// that it names. "driver" is what the kernel shows now.
	ByPlace map[string]map[int]string
	// Pending says that a port will have another type after the next boot.
	Pending bool
	// Unanswered is why mstconfig said nothing about the card's configuration; empty if
	// it did, or if it is known not to serve the card. While it is set, StoredIn, the
	// types of the next boot and Pending are not known.
	Unanswered string
	// Unclear is why nobody knows what other settings of the host decide at the next boot;
	// empty if it is known. While it is set, no port has a type of the next boot.
	Unclear string
	// Open says that a setting made elsewhere leaves a port to the firmware: whether it will
	// have another type is not known.
	Open     bool
	Lines    []string // what somebody has added to our file, see platform.AddedLines
	Boot     string   // the boot of the host
	Did      []string
	Warnings []string // what the operator should know, one sentence each
}

// decidesItself reports whether nothing but the card's own configuration decides
// on the types of its ports.
// mlx5 has neither a parameter nor a file in sysfs for it (6.1 to 7.3).
func decidesItself(card *inventory.Card) bool { return card.Chip.Driver == "mlx5_core" }

func sortedPorts(types map[int]ib.LinkType) []int { return slices.Sorted(maps.Keys(types)) }
