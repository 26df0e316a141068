package inventory

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Identity is what tells a card from others. What the journal of the host recorded of
// this very card is added, in whatever slot it then was: a cross-flash may make the vital
// product data unreadable, and jobs may have set the addresses, one after the other.
func (s *Snapshot) Identity(c *Card) ib.Identity {
	return Derive(s, identityOf(c.PCI), func() ib.Identity { return identify(s, c) })
}

// identityOf is the key of the identity of a card.
type identityOf ib.PCIAddress

func identify(s *Snapshot, c *Card) ib.Identity {
	who, named := s.ShownIdentity(c), false
	// From the newest back: each job may have given the card other addresses, and leads to the one before it.
	for i := range slices.Backward(s.Jobs) {
		before, after := s.Jobs[i].identities()
		if before.Empty() {
			continue // of a job that does not name its card
		}
		switch like, _ := ib.Compare(after, who); {
		case like != ib.Same:
		case named:
			who = who.With(after)
		default:
			who, named = before.With(who).With(after), true
		}
	}
	return who
}

// ShownIdentity is what the card shows itself. A value that another card of the host has, too,
// tells nothing and is left out.
func (s *Snapshot) ShownIdentity(c *Card) ib.Identity {
	now := c.observedIdentity(s)
	for i := range s.Cards {
		// Only what is known to be another card. The functions of one share everything, and are no doubles.
		if other := &s.Cards[i]; fact.No(s.OfCard(other.PCI, c.PCI)) {
			now = without(now, other.observedIdentity(s))
		}
	}
	return now
}

// SilentSerial says why the serial number does not tell the card from others; empty if it does.
func (s *Snapshot) SilentSerial(c *Card) string {
	for i := range s.Cards {
		other := &s.Cards[i]
		if c.Serial.Known() && other.Serial.Or("") == c.Serial.Or("") && fact.No(s.OfCard(other.PCI, c.PCI)) {
			return "card " + other.PCI.String() + " has the same one, " + c.Serial.Or("")
		}
	}
	return c.Serial.Why()
}

// observedIdentity is the identity without the journal, and without a look at other cards.
func (c *Card) observedIdentity(s *Snapshot) ib.Identity {
	id := ib.Identity{Serial: c.Serial.Or(""), Part: c.PartNumber, Chip: c.Chip.Name}
	// Jobs compare the GUIDs in flash. A driver shows those that the card was started with: what
	// somebody has set since makes it no other card.
	if f := c.ReadFlash(); f != nil {
		id.MACs = []ib.MAC{f.GUIDs.MAC1, f.GUIDs.MAC2}
		id.GUIDs = []ib.GUID{f.GUIDs.Node, f.GUIDs.Port1, f.GUIDs.Port2}
	} else if id.Token() == "" { // anybody sets the address of an interface, as a bond does
		for i := range s.Netdevs {
			n := &s.Netdevs[i]
			if mac, err := ib.ParseMAC(n.Address); err == nil && !n.IB && n.PCI == c.PCI && n.Parent == "" {
				id.MACs = append(id.MACs, mac)
			}
		}
	}
	id.GUIDs = append(id.GUIDs, c.NodeGUID)
	for _, p := range c.Ports {
		if p.LinkLayer == "InfiniBand" { // the GID of an Ethernet port is made from its MAC
			id.GUIDs = append(id.GUIDs, p.PortGUID)
		}
	}
	return id.Unique()
}

// without takes out of id what another card has, too.
func without(id, other ib.Identity) ib.Identity {
	if id.Serial == other.Serial {
		id.Serial = ""
	}
	id.MACs = slices.DeleteFunc(id.MACs, func(m ib.MAC) bool { return slices.Contains(other.MACs, m) })
	id.GUIDs = slices.DeleteFunc(id.GUIDs, func(g ib.GUID) bool { return slices.Contains(other.GUIDs, g) })
	return id
}

// identities are those that the request of a job gives a card before and after
// it. Whether the job did its work does not matter here: what a card has now is
// one of the two if it is this card.
func (j *Job) identities() (before, after ib.Identity) {
	before, err := ib.ParseIdentity(j.Request["card_identity"])
	if err != nil {
		return ib.Identity{}, ib.Identity{} // of another release
	}
	after = before
	for _, word := range words(j.Request, "from_macs", "to_macs") {
		if m, err := ib.ParseMAC(word); err == nil {
			after.MACs = append(after.MACs, m)
		}
	}
	for _, key := range []string{"from_guids", "to_guids"} {
		fields := words(j.Request, key)
		if len(fields) == 4 {
			fields = fields[:3] // the last is the system image GUID, which cards may share
		}
		for _, word := range fields {
			if g, err := ib.ParseGUID(word); err == nil {
				after.GUIDs = append(after.GUIDs, g)
			}
		}
	}
	return before.Unique(), after.Unique()
}

func words(request map[string]string, keys ...string) []string {
	var all []string
	for _, k := range keys {
		all = append(all, strings.Fields(request[k])...)
	}
	return all
}

// Find gives the address of the card of the host that is the recorded one, if
// that is proven of one.
func (s *Snapshot) Find(recorded ib.Identity) (ib.PCIAddress, bool) {
	for i := range s.Cards {
		// One function stands for the card, so that two ports are not two finds.
		if c := &s.Cards[i]; !c.Virtual && c.PCI.Function() == 0 {
			if like, _ := ib.Compare(recorded, s.Identity(c)); like == ib.Same {
				return c.PCI, true
			}
		}
	}
	return ib.PCIAddress{}, false
}
