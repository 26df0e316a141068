package found

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

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
	switch {
	case ref.Bond.Name != "":
		t.placeBond(h, ref.Bond)
	case !ok || n.Parent != "":
		t.PKey = ref.PKey
		if t.PKey != 0 {
			t.siblings = siblingsOf(h, ref)
		}
	default:
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

// readerOf is the reader of a stack. netplan has no P_Key children; its
// renderer makes them, and bonds.
func readerOf(k ipoib.Stack, t Target) reader {
	switch {
	case t.Bond.Name == "":
	case k.Service() == ipoib.NetworkdUnit:
		return networkdBond{}
	case k.Service() == ipoib.NMUnit:
		return nmBond{}
	}
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
	nmFiles{}, ifupdownFiles{}, networkdBond{}, nmBond{}}

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

// UndoDue reports whether the host takes back by itself what the interface has now, or is not done with that. The
// interface may be as wanted until then.
func (l *Look) UndoDue() bool {
	if l.Stack == ipoib.StackMiddleware {
		return l.RollbackDue()
	}
	return l.Undone == UndoWaits || l.Undone == UndoRuns || l.Undone == UndoFails
}

// Unwritten are the paths of those files, and of the list of modules, that a change to want writes on a host that has
// was; nil if only the change shows them.
func (l *Look) Unwritten(was Written, want ipoib.Config) (paths []string) {
	if l.Sources() == nil {
		return nil
	}
	for _, f := range l.Files(l.Target, want) {
		if was.Files[f.Path] != hashOf(f.Text) {
			paths = append(paths, f.Path)
		}
	}
	if was.Modules != "" {
		paths = append(paths, was.Modules)
	}
	return paths
}

// Written is what a host has of our files, and is not about to take back.
type Written struct {
	Files   map[string]string // the hash of each one whose rights are as they are to be, by its path
	Modules string            // the list of modules, if it lacks one of ours
}

// Written is what the host of the look has of our files.
func (l *Look) Written() (w Written) {
	if l.Sources() == nil {
		return w
	}
	w.Files = map[string]string{}
	for _, f := range l.Files(l.Target, ipoib.Config{}) {
		on, there := l.host.snap.Files[f.Path]
		if f.Text = on.Content; there && f.IsOn(on) && !l.UndoDue() {
			w.Files[f.Path] = hashOf(f.Text)
		}
	}
	w.Modules = platform.UnstoredIn(l.host.snap, "ib_ipoib")
	return w
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
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

// definitions read what others have written for an interface, for whatever network stack: what the
// stack of the host does not read today it may read tomorrow.
var definitions = []func(*hostFacts, Target) []Unmanaged{unmanagedPlans, unmanagedProfiles, unmanagedNetworks,
	unmanagedStanzas, unread}
