package ipoib

import (
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// earlierPort gives the port GUID of a file of ours for a port that the host does not have
// any more: its GUID or its card has changed, and no resource of here has removed the file.
// What it says of an interface by its name is still in force. Of a port that the host has,
// a resource keeps the file right.
func earlierPort(s *inventory.Snapshot, t target, at string) ib.GUID {
	_, id, ok := strings.Cut(path.Base(at), "infiniband-")
	if !ok || len(id) < 16 || strings.Contains(id, "-parent.") || !ownProfile(s.Files[at].Content) {
		return 0
	}
	guid, err := ib.ParseGUID("0x" + id[:16])
	if err != nil || guid == t.port {
		return 0
	}
	if _, _, here := s.CardByPortGUID(guid); here {
		return 0
	}
	if _, here := s.NetdevByPortGUID(guid); here {
		return 0
	}
	if _, sleeps := platform.FindSleepingPort(s, guid); sleeps {
		return 0
	}
	return guid
}

// ofThisPort reports whether a file is one that resources of this host's ports keep right.
func ofThisPort(s *inventory.Snapshot, t target, at string) bool {
	return platform.IsOurs(s.Files[at].Content) && earlierPort(s, t, at).IsZero()
}

// noteEarlier says of a definition that it is of a port that the host had. Its settings are
// those of ours, so that none ends with it.
func (f *Unmanaged) noteEarlier(s *inventory.Snapshot, t target, at string) {
	if f.earlier = earlierPort(s, t, at); !f.earlier.IsZero() {
		f.Line += "; this provider wrote it for port " + f.earlier.String() + ", which the host does not have any more, " +
			"and it can be removed"
		f.Unkept = nil
	}
}

// without leaves out the definitions of interfaces that the plan removes before.
func (o Observation) without(leaving []Place) Observation {
	o.Unmanaged = slices.DeleteFunc(o.Unmanaged, func(f Unmanaged) bool {
		return slices.ContainsFunc(leaving, func(p Place) bool { return p.PortGUID == f.earlier })
	})
	return o
}
