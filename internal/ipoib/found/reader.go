package found

import (
	"fmt"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Target is the interface as files are written for it.
type Target struct {
	ipoib.Ref
	Name    string // empty if there is none yet, but for a P_Key child of an interface that is there
	Parent  string // of a P_Key child, the interface of the port
	Address string // hardware address of the interface of the port
	// Profile is the UUID of the profile of NetworkManager, if it is not the one that we give.
	Profile string

	driver   string   // of the card
	others   []string // names of the host's interfaces that are not IPoIB
	siblings []uint16 // P_Keys of other children that networkd has by files of ours
	hooks    []string // files of networkd that configure the interface of the port, or did
}

// newTarget finds the interface of a port, or names the P_Key child of it as the
// kernel and all stacks do.
func newTarget(h *hostFacts, ref ipoib.Ref) Target {
	t := Target{Ref: ipoib.Ref{PortGUID: ref.PortGUID}}
	if card, _, found := h.snap.CardByPortGUID(ref.PortGUID); found {
		t.driver = card.Driver
	}
	for _, other := range h.snap.Netdevs {
		if !other.IB {
			t.others = append(t.others, other.Name)
		}
	}
	n, ok := h.snap.NetdevByPortGUID(ref.PortGUID)
	if !ok || n.Parent != "" {
		t.PKey = ref.PKey
		if t.PKey != 0 {
			t.siblings = siblingsOf(h, ref)
		}
	} else {
		t.place(h, n, ref.PKey)
	}
	t.Profile = profileOf(h, t.Ref)
	return t
}

// place says how the interface is called, by the one that the port has.
func (t *Target) place(h *hostFacts, n *inventory.Netdev, pkey uint16) {
	t.Name, t.Address = n.Name, n.Address
	if pkey == 0 {
		return
	}
	t.PKey, t.Parent, t.Name = pkey, n.Name, childName(n.Name, pkey)
	t.siblings, t.hooks = siblingsOf(h, t.Ref), hookedFiles(h, *t, n)
}

// childName is what the kernel, networkd, NetworkManager and ifupdown all call a child.
func childName(parent string, pkey uint16) string { return fmt.Sprintf("%s.%04x", parent, pkey) }

// link has what definitions match an interface by.
func (t Target) link() ipconf.Link {
	return ipconf.Link{Name: t.Name, PKey: t.PKey, Others: t.others, PortGUID: t.PortGUID, Driver: t.driver}
}

// ownAddress is the hardware address of the interface. A P_Key child has another one than
// its parent.
func (t Target) ownAddress() string {
	if t.PKey != 0 {
		return ""
	}
	return t.Address
}

// configured is the interface in the form that the files of all stacks share.
func (t Target) configured(want ipoib.Config) ipconf.Interface {
	return ipconf.Interface{Name: t.Name, Address: t.Address, Parent: t.Parent, PKey: t.PKey, Settings: want.Sorted()}
}

// reader is what differs in the files of the network stacks. What the stacks do with these files
// is in package change.
type reader interface {
	// files are our files that define the interface at boot, the main one first.
	files(t Target, want ipoib.Config) []File
	// own reads our files back.
	own(h *hostFacts, t Target) StoredConfig
}

// File is one file of ours.
type File struct {
	Path string
	Mode uint32
	Text string
	// added are the settings of such a file that nothing of ours writes.
	added func(text string) []tool.Setting
	// settings are all settings of such a file, each in one spelling.
	settings func(text string) []tool.Setting
}

// readerOf is the reader of a stack. netplan has no P_Key children; its
// renderer makes them.
func readerOf(k ipoib.Stack, t Target) reader {
	switch k {
	case ipoib.StackNetplan:
		if t.PKey == 0 {
			return netplanNetworkdFiles{}
		}
		return networkdFiles{planned: true}
	case ipoib.StackNetplanNM:
		if t.PKey == 0 {
			return netplanNMFiles{}
		}
		return nmFiles{}
	case ipoib.StackNM:
		return nmFiles{}
	case ipoib.StackNetworkd:
		return networkdFiles{}
	case ipoib.StackIfupdown, ipoib.StackIfupdown2, ipoib.StackMiddleware, ipoib.StackUnknown:
	}
	return ifupdownFiles{}
}

// readers are all that know files of ours; each recognises its own.
var readers = []reader{netplanNetworkdFiles{}, netplanNMFiles{}, networkdFiles{}, networkdFiles{planned: true},
	nmFiles{}, ifupdownFiles{}}

// Files are our files that define an interface at boot, for the stack of its host, the main one
// first.
func (l *Look) Files(t Target, want ipoib.Config) []File { return readerOf(l.Stack, t).files(t, want) }

// Sources are the paths of those files, as StoredConfig has them after a change; nil if only the change shows them.
func (l *Look) Sources() (paths []string) {
	if l.PKey != 0 || l.Silence != "" || l.Stack == ipoib.StackMiddleware {
		return nil
	}
	for _, f := range l.Files(l.Target, ipoib.Config{}) {
		paths = append(paths, f.Path)
	}
	return paths
}

// MainPath is where our main file for the interface is.
func (l *Look) MainPath(want ipoib.Config) string { return l.Files(l.Target, want)[0].Path }

// StaleFiles are our files for this interface that a change which writes now does not write: those
// that another network stack of the host reads, and drop-ins for files of another name.
func (l *Look) StaleFiles(now []File) []string {
	var stale []string
	for _, r := range readers {
		for _, f := range withHooks(l.host, l.Target, r.files(l.Target, ipoib.Config{})) {
			isNow := func(n File) bool { return n.Path == f.Path }
			if l.host.saysOurs(f.Path) && !slices.Contains(stale, f.Path) && !slices.ContainsFunc(now, isNow) {
				stale = append(stale, f.Path)
			}
		}
	}
	return stale
}

// Removable reports whether anything of ours is on the host.
func (l *Look) Removable() bool { return l.Persisted.Found || len(l.StaleFiles(nil)) > 0 }
