package clash

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Holder is the identity that another card has or is planned to have.
type Holder struct {
	Host    string
	PCI     ib.PCIAddress
	GUIDs   ib.GUIDSet
	Planned bool // not on the card yet
	// Function is the virtual function of the card that has them, "virtual function 0"; empty if it is the card itself.
	Function string
	// Running: the card uses them until its next start, which loads others from flash.
	Running bool
	// Unread says why the flash was not read: GUIDs are then what the driver shows, if it
	// shows any. Empty if it was, or if no tool can.
	Unread string
}

// where names the card, and since when or until when it has the identity.
func (c Holder) where() string {
	where := c.ID()
	if c.Function != "" {
		where = c.Function + " of " + where
	}
	switch {
	case c.Planned:
		return where + " (planned)"
	case c.Running:
		return where + " (until its next start)"
	}
	return where
}

// ID names the card.
func (c Holder) ID() string { return fmt.Sprintf("%s/%s", c.Host, c.PCI) }

func clashesWith(other Holder, want ib.GUIDSet) []string {
	return append(guidClashes(other, want), macClashes(other, want)...)
}

func guidClashes(other Holder, want ib.GUIDSet) (out []string) {
	for _, w := range GUIDsOf(want) {
		for _, o := range GUIDsOf(other.GUIDs) {
			// A node GUID that equals its own card's system image GUID is usual;
			// between cards any equality is a clash.
			if !w.GUID.IsNone() && w.GUID == o.GUID {
				out = append(out, fmt.Sprintf("%s %s is the %s of %s", w.Name, w.GUID, o.Name, other.where()))
			}
		}
	}
	return out
}

func macClashes(other Holder, want ib.GUIDSet) (out []string) {
	for _, w := range MACsOf(want) {
		for _, o := range MACsOf(other.GUIDs) {
			if UsableMAC(w.MAC) && w.MAC == o.MAC {
				out = append(out, fmt.Sprintf("%s %s is the %s of %s", w.Name, w.MAC, o.Name, other.where()))
			}
		}
	}
	return out
}

// NamedGUID is a GUID of a card with what messages call it.
type NamedGUID struct {
	Name string
	GUID ib.GUID
}

// NamedMAC is so, too.
type NamedMAC struct {
	Name string
	MAC  ib.MAC
}

// GUIDsOf are the four GUIDs of a card.
func GUIDsOf(s ib.GUIDSet) []NamedGUID {
	return []NamedGUID{{"node GUID", s.Node}, {"port 1 GUID", s.Port1}, {"port 2 GUID", s.Port2},
		{"system image GUID", s.SystemImage}}
}

// MACsOf are the two MACs of a card.
func MACsOf(s ib.GUIDSet) []NamedMAC {
	return []NamedMAC{{"port 1 MAC", s.MAC1}, {"port 2 MAC", s.MAC2}}
}

// UsableMAC reports whether a MAC was ever set.
func UsableMAC(m ib.MAC) bool { return !m.IsZero() && !m.IsBroadcast() }
