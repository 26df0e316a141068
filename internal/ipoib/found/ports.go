package found

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Uses names the interfaces of a port that are configured, now or for the next boot, by
// whomever.
func Uses(s *inventory.Snapshot, port ib.GUID) []string {
	refs := []ipoib.Ref{{PortGUID: port}}
	if parent, ok := s.NetdevByPortGUID(port); ok {
		for i := range s.Netdevs {
			n := &s.Netdevs[i]
			if key, err := keyOf(n); n.IB && n.Parent == parent.Name && err == nil {
				refs = append(refs, ipoib.Ref{PortGUID: port, PKey: key})
			}
		}
	}
	var all []string
	for _, ref := range refs {
		l := At(s, ref)
		if how := l.configuredBy(); len(how) > 0 {
			all = append(all, fmt.Sprintf("%s (%s)", l.called(), strings.Join(how, "; ")))
		}
	}
	return all
}

// keyOf is the P_Key of a child, as the kernel shows it.
func keyOf(n *inventory.Netdev) (uint16, error) {
	key, err := strconv.ParseUint(strings.TrimPrefix(n.PKey, "0x"), 16, 16)
	return uint16(key), err
}

// Defined are the P_Keys of the interfaces on a port for which names of files of ours are on the
// host, in order. 0, the port's own interface, is always among them: on TrueNAS no file has it.
func Defined(s *inventory.Snapshot, port ib.GUID) []uint16 {
	keys := map[uint16]bool{0: true}
	for at := range s.Files {
		_, rest, ours := strings.Cut(path.Base(at), "infiniband-"+port.Hex()+"-")
		if key, err := strconv.ParseUint(rest[:min(4, len(rest))], 16, 16); ours && err == nil {
			keys[uint16(key)] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// called is the interface as messages name it.
func (l *Look) called() string {
	if !l.Present {
		return "the configuration of an IPoIB interface"
	}
	return "IPoIB interface " + l.Name
}

// configuredBy says what an interface has now, and what configures it.
func (l *Look) configuredBy() []string {
	var how []string
	if len(l.Live.Addresses) > 0 {
		how = append(how, ipconf.Join(l.Live.Addresses))
	}
	if l.Persisted.Found {
		how = append(how, "infiniband_ipoib_interface: "+strings.Join(l.Persisted.Sources, ", "))
	}
	return append(how, Lines(l.Unmanaged)...)
}

// Words say what the interface has now and at boot.
func (l *Look) Words() string {
	now := "no interface"
	if l.Present {
		now = l.Live.Words()
	}
	if !l.Persisted.Found {
		return now + "; nothing of Terraform at boot"
	}
	words := []string{now}
	if l.Present && !l.Live.Up {
		words[0] += ", down"
	}
	if boot := l.bootWords(); boot != now {
		words = append(words, "at boot "+boot)
	}
	for _, path := range l.Missing {
		words = append(words, path+" is not there")
	}
	words = append(words, l.Lacking...)
	for _, a := range l.Added {
		if !a.Unreadable() {
			words = append(words, a.String())
		}
	}
	return strings.Join(words, "; ")
}

// bootWords say what our files bring back, if they can be read.
func (l *Look) bootWords() string {
	for _, a := range l.Added {
		if a.Unreadable() {
			return a.Path + ", which is not readable"
		}
	}
	return l.Persisted.Config.Words()
}

// HasPort reports whether a card of the host has a port.
func (l *Look) HasPort(guid ib.GUID) bool { return l.host.hasPort(guid) }

// BondOwner is the port whose files of ours make the bond of that name; zero if none do.
func (l *Look) BondOwner(name string) ib.GUID {
	for _, n := range l.host.snap.Netdevs {
		ref := ipoib.Ref{PortGUID: n.PortGUID, Bond: ipoib.Bond{Name: name, Backup: l.PortGUID}}
		if n.IB && n.Parent == "" && l.Of(ref).Persisted.Interface == name {
			return n.PortGUID
		}
	}
	return 0
}

// BondOf is the bond of a port that files of ours make; zero if they make none.
func BondOf(s *inventory.Snapshot, port ib.GUID) ipoib.Bond {
	n, ok := s.NetdevByPortGUID(port)
	if !ok || n.Master == "" {
		return ipoib.Bond{}
	}
	for i := range s.Netdevs {
		other := &s.Netdevs[i]
		bond := ipoib.Bond{Name: n.Master, Backup: other.PortGUID}
		if other.Master == n.Master && other.Name != n.Name && other.IB &&
			At(s, ipoib.Ref{PortGUID: port, Bond: bond}).Persisted.Interface == n.Master {
			return bond
		}
	}
	return ipoib.Bond{}
}
