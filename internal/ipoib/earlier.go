package ipoib

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// earlierPort gives the port GUID of a file of ours for a port that the host does not have
// any more: its GUID or its card has changed, and no resource of here has removed the file.
// What it says of an interface by its name is still in force. Of a port that the host has,
// a resource keeps the file right.
func earlierPort(s *inventory.Snapshot, t target, at string) ib.GUID {
	place, _ := placeOf(at)
	guid := place.port
	if !isOwnFile(s, at) || at == bareParentPath(place) || guid == t.port {
		return 0
	}
	if _, _, here := s.CardByPortGUID(guid); here {
		return 0
	}
	if _, here := s.NetdevByPortGUID(guid); here {
		return 0
	}
	if slices.ContainsFunc(s.Cards, func(c inventory.Card) bool {
		return c.Flash != nil && (c.Flash.GUIDs.Port1 == guid || c.Flash.GUIDs.Port2 == guid)
	}) {
		return 0
	}
	return guid
}

// silentCards are the cards of which no port is known, neither by a driver nor by the flash.
func silentCards(s *inventory.Snapshot) (all []string) {
	for i := range s.Cards {
		c := &s.Cards[i]
		if c.Flash == nil && !c.Virtual && !slices.ContainsFunc(c.Ports,
			func(p inventory.Port) bool { return !p.PortGUID.IsZero() }) {
			all = append(all, c.PCI.String())
		}
	}
	return all
}

// ofThisPort reports whether a file is one that resources of this host's ports keep right.
func ofThisPort(s *inventory.Snapshot, t target, at string) bool {
	return isOwnFile(s, at) && earlierPort(s, t, at).IsZero()
}

// noteEarlier says of a definition that it is of a port that the host had. Its settings are
// those of ours, so that none ends with it.
func (f *Unmanaged) noteEarlier(s *inventory.Snapshot, t target, at string) {
	if copied(s, at) {
		f.Line += "; the file says that this provider wrote it, but no file of this provider has this name: it is a copy"
	}
	if f.earlier.PortGUID = earlierPort(s, t, at); !f.earlier.PortGUID.IsZero() {
		place, _ := placeOf(at)
		f.earlier.PKey = place.pkey
		gone := "does not have any more, and it can be removed"
		if silent := silentCards(s); len(silent) > 0 {
			gone = "does not show. Neither the ports nor the flash of " + strings.Join(silent, " and ") +
				" could be read, so that the port may be there"
		}
		f.Line += "; this provider wrote it for port " + f.earlier.PortGUID.String() + ", which the host " + gone
		f.Unkept = nil
	}
}

// without leaves out the definitions of interfaces that the plan removes before, and those that
// nothing is known of yet and a resource of the plan looks after.
func (o Observation) without(leaving, lookedAfter []Place) Observation {
	o.Unmanaged = slices.DeleteFunc(o.Unmanaged, func(f Unmanaged) bool {
		return slices.Contains(leaving, f.earlier) || f.Awaited && slices.Contains(lookedAfter, f.earlier)
	})
	return o
}

// Awaited are the interfaces of ports that the host had of which a file of ours may match an
// interface that has no name yet.
func (o Observation) Awaited() (all []Place) {
	for _, f := range o.Unmanaged {
		if f.Awaited {
			all = append(all, f.earlier)
		}
	}
	return all
}
