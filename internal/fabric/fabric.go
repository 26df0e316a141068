// Package fabric knows an InfiniBand fabric as the diagnostics of one host see
// it: nodes, ports, links, subnet managers, partitions and error counters. It
// compares the cables with those that should be there, says why a link is slow,
// and draws the fabric.
//
// It must not change a host or a cable. Error counters are all that it sets, and only Clear does.
package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Fabric is one look at a fabric.
type Fabric struct {
	Nodes []*Node // adapters and switches, by kind and name
	Links []*Link // each cable once, with those that lead nowhere known
	SMs   []SM    // the master first
	// Duplicates are GUIDs that more than one port has; the nodes behind them are
	// missing from the fabric, because the tools tell nodes apart by GUID.
	Duplicates []ib.GUID
	// NoLink says why the port that looks sees no fabric: "port 1 of intel9 has no link (Polling)"; empty if
	// it has a link.
	NoLink string
	// Detailed says that enabled and supported widths and speeds, MTUs and P_Keys
	// were asked for.
	Detailed bool
	// Ruled is whether a subnet manager answers for the fabric.
	Ruled fact.Bool
	// Uncounted says why error counters could not be read although there is a
	// subnet manager; empty if they were read or not asked for.
	Uncounted string
	// Counted says that error counters were read; without a subnet manager they
	// cannot be.
	Counted bool

	unknown map[ib.GUID]string // names of GUIDs that no node has
	called  map[string]string  // configured names of the fabric, each with a port that has it
}

// Node is a channel adapter or a switch.
type Node struct {
	GUID       ib.GUID
	SystemGUID ib.GUID
	Switch     bool
	Name       string // description, as the node has it
	Given      string // name of the node name map; empty without one
	VendorID   uint32
	DeviceID   uint32
	PortCount  int
	LID        int // of a switch
	// Firmware and PSID are of a switch of Mellanox whose agent tells them; zero otherwise.
	Firmware ib.FWVersion
	PSID     ib.PSID
	Ports    []*Port
	// Host and PCIe are known of cards in hosts of the provider.
	Host string
	PCIe *PCIe
}

// Port is one port of a node; of an adapter only those on this fabric.
type Port struct {
	Node     *Node
	Number   int
	GUID     ib.GUID // of a switch, the node's
	LID      int
	State    string // "Active", "Initializing", "Armed", "Down"
	Physical string
	SM       bool
	Fabric   string // configured name of its fabric; empty without one
	PKeys    []uint16
	MTU      int // in use
	MTUCap   int // the largest of the port; 0 if it was not asked or did not answer
	Width    int
	Speed    ib.Speed

	WidthEnabled, WidthSupported   []int
	SpeedsEnabled, SpeedsSupported []ib.Speed
	Counters                       map[string]uint64 // those that are not zero
	couldBeWidth                   int
	couldBeSpeed                   ib.Speed
}

// Link is a cable. B is nil if nobody answers at its other end.
type Link struct {
	A, B *Port
	// BelowWish says that it is slower than expected, see AbsentCables.
	BelowWish bool
}

// SM is a subnet manager.
type SM struct {
	GUID     ib.GUID
	LID      int
	Priority int // -1: not known
	State    string
	Node     *Node // nil if its port is not among those found
}

// Label names a subnet manager for people: by its node if that was found, else by its GUID.
func (s SM) Label() string {
	if s.Node == nil {
		return s.GUID.String()
	}
	return s.Node.Label()
}

// PCIe is the slot of a card.
type PCIe struct {
	Width, MaxWidth int
	Speed, MaxSpeed string
}

// Label names a port for people: "intel9 mlx4_0 port 1".
func (p *Port) Label() string { return p.Node.Label() + " port " + strconv.Itoa(p.Number) }

// Label names a node for people: its name of the map, its description, or its GUID if
// it has none, with control characters made visible.
func (n *Node) Label() string {
	if n.Given != "" {
		return Printable(n.Given)
	}
	if name := Printable(n.Name); strings.TrimSpace(name) != "" {
		return name
	}
	return n.GUID.String()
}

// ID names a port for programs and stays the same over runs: "0x…/1".
func (p *Port) ID() string { return fmt.Sprintf("%s/%d", p.Node.GUID, p.Number) }

// HostName is the host that a card is in: the provider's name for it, or the
// first word of the description, which the kernel sets to "HOST DEVICE".
func (n *Node) HostName() string {
	if n.Host != "" {
		return n.Host
	}
	host, _, _ := strings.Cut(n.Label(), " ")
	return host
}

// Device is the rest of the description: "mlx4_0".
func (n *Node) Device() string {
	_, device, _ := strings.Cut(n.Label(), " ")
	return device
}

// Up reports whether the link works as far as the wire goes.
func (l *Link) Up() bool { return l.B != nil && l.A.State != "Down" && l.B.State != "Down" }

// Rate is the width and speed in use: "4X QDR".
func (l *Link) Rate() string {
	if l.A.Width == 0 || l.A.Speed == 0 {
		return ""
	}
	return fmt.Sprintf("%dX %s", l.A.Width, l.A.Speed)
}

// Gbps is what the link carries after its encoding.
func (l *Link) Gbps() float64 { return l.A.Speed.DataRate(l.A.Width) }

// Printable makes control characters visible and keeps everything else: a node
// description is whatever somebody wrote to the card.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "�") {
		// C0, delete, C1, the separators of lines, and the marks of direction, which turn text around in a terminal.
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e ||
			r >= 0x2066 && r <= 0x2069 {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Master is the subnet manager that rules, nil if there is none.
func (f *Fabric) Master() *SM {
	for i := range f.SMs {
		if f.SMs[i].State == "master" {
			return &f.SMs[i]
		}
	}
	return nil
}

// Partition is a P_Key with the ports that have it.
type Partition struct {
	PKey          uint16 // without the bit of full members
	Full, Limited []*Port
}

// Partitions collects the P_Keys of the adapters' ports.
func (f *Fabric) Partitions() []Partition {
	by := map[uint16]*Partition{}
	for _, n := range f.Nodes {
		for _, p := range n.Ports {
			for _, key := range p.PKeys {
				part := by[key&0x7fff]
				if part == nil {
					part = &Partition{PKey: key & 0x7fff}
					by[part.PKey] = part
				}
				if key&0x8000 != 0 {
					part.Full = append(part.Full, p)
				} else {
					part.Limited = append(part.Limited, p)
				}
			}
		}
	}
	list := make([]Partition, 0, len(by))
	for _, p := range by {
		list = append(list, *p)
	}
	// Down, so that the default partition 0x7fff comes first.
	slices.SortFunc(list, func(a, b Partition) int { return cmp.Compare(b.PKey, a.PKey) })
	return list
}

// sort gives everything an order that does not depend on how the fabric was
// walked.
func (f *Fabric) sort() {
	slices.SortFunc(f.Nodes, func(a, b *Node) int {
		return cmp.Or(boolCompare(b.Switch, a.Switch), naturalCompare(a.Label(), b.Label()), cmp.Compare(a.GUID, b.GUID))
	})
	order := map[*Node]int{}
	for i, n := range f.Nodes {
		order[n] = i
		slices.SortFunc(n.Ports, func(a, b *Port) int { return cmp.Compare(a.Number, b.Number) })
	}
	before := func(a, b *Port) int {
		return cmp.Or(cmp.Compare(order[a.Node], order[b.Node]), cmp.Compare(a.Number, b.Number))
	}
	for _, l := range f.Links {
		if l.B != nil && before(l.B, l.A) < 0 {
			l.A, l.B = l.B, l.A
		}
	}
	slices.SortFunc(f.Links, func(a, b *Link) int { return before(a.A, b.A) })
	slices.SortFunc(f.SMs, func(a, b SM) int {
		return cmp.Or(boolCompare(a.State == "master", b.State == "master"), cmp.Compare(b.Priority, a.Priority),
			cmp.Compare(a.GUID, b.GUID))
	})
}

// boolCompare puts true first.
func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// naturalCompare puts node2 before node10.
func naturalCompare(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			// By length and then as text, not as numbers: a name may have more digits than any integer.
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
