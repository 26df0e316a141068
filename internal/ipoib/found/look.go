package found

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Look is what one snapshot shows of one interface: all that is derived from the host, made once.
// It is shared and read-only.
type Look struct {
	Target
	Host    string
	Stack   ipoib.Stack // what configures the network of the host
	Silence string      // why Stack is not known; empty if it is, or if the host has none

	Present bool              // the interface exists
	Netdev  *inventory.Netdev // what the kernel has by the name of the interface; nil if nothing
	// OtherGUID is the GUID in the hardware address of a P_Key child, if it is not that of
	// the port; else zero. ib_ipoib gives such a child no carrier.
	OtherGUID ib.GUID
	Live      Live

	Driver    string // of the card: "mlx4_core"
	Sleeping  bool   // the port is known from the card's flash only: its module is not loaded
	Capable   bool   // connected mode is possible
	LinkLayer string
	PortState string
	Physical  string
	SMLID     uint16
	IBMTU     int // largest InfiniBand MTU of the port in bytes; 0 if the driver does not show it (mlx5)

	// Persisted is what our own files or database rows bring back at boot.
	Persisted StoredConfig
	// NotAtBoot says which modules of what Persisted brings back are not loaded at boot; empty if
	// none is known to be missing.
	NotAtBoot string
	// Added is what somebody has added to our own files.
	Added []Added
	// Lacking is what somebody has taken out of our own files, or changed there, one sentence for
	// each file.
	Lacking []string
	// Missing are those of our own files that are not there, while others are.
	Missing []string
	// Unmanaged is what was configured for the same interface outside this provider.
	Unmanaged []Unmanaged
	// Undone says what became of an earlier change of which something is left: one of the words
	// of Undo…, or by what it was undone; empty if there was none.
	Undone string

	host *hostFacts
}

// Live is the interface as the kernel has it.
type Live struct {
	ipoib.Config
	Up      bool // administratively up
	Carrier bool // up, a subnet manager and a joined broadcast group
}

// StoredConfig is the configuration that survives a reboot.
type StoredConfig struct {
	Found     bool // anything of ours, complete or not
	Interface string
	Config    ipoib.Config
	Fault     string   // why the interface would not work after a boot; empty if nothing is known to be wrong
	Sources   []string // paths of files, or "interface ibs4d1", "udev tunable …"
}

// What became of an earlier change that is not put away, besides what the host wrote when it
// undid it.
const (
	UndoWaits = "waiting"   // the host will undo it, unless it is confirmed
	UndoRuns  = "undoing"   // the host undoes it now
	UndoFails = "failed"    // the host could not put back every file
	UndoNever = "confirmed" // it holds; what was saved for an undo is left
)

// At looks at one interface of a host. The look is kept beside the snapshot, so that a plan, a check
// and a change that have the same snapshot have the same look. A new snapshot, as the write needs
// it, has a new one.
func At(s *inventory.Snapshot, ref ipoib.Ref) *Look { return hostOf(s).at(ref) }

// WithoutPort is what is known of an interface before its port is: the host alone.
func (l *Look) WithoutPort() *Look {
	return &Look{Host: l.Host, Stack: l.Stack, Target: Target{Ref: ipoib.Ref{PKey: l.PKey}}, host: l.host}
}

// Of is the look at another interface of the same host.
func (l *Look) Of(other ipoib.Ref) *Look { return l.host.at(other) }

// Snapshot is what the look was made of, for what other packages make of it.
func (l *Look) Snapshot() *inventory.Snapshot { return l.host.snap }

// newLook reads the kernel first, then what is ours, then what others have: the network stack says
// where ours would be, and what is not ours is by others.
func newLook(h *hostFacts, ref ipoib.Ref) *Look {
	s, t := h.snap, newTarget(h, ref)
	l := &Look{Target: t, Host: s.Host, Stack: h.stack, Undone: s.Undos[t.ID()], host: h}
	card := l.readPort(s)
	l.readNetdev(s)
	if s.TrueNAS != nil {
		l.readStoredRow(h.middleware())
		l.readModules(s, card)
		return l
	}
	if l.Stack == ipoib.StackUnknown {
		l.Silence = h.running.Why()
	}
	l.Persisted = readerOf(l.Stack, t).own(h, t)
	l.readModules(s, card)
	l.readEdits()
	for _, read := range definitions {
		l.Unmanaged = append(l.Unmanaged, read(h, t)...)
	}
	for i := range l.Unmanaged {
		f := &l.Unmanaged[i]
		f.LostMark = isOwnPath(t, f.Path) && !h.isOwnFile(f.Path)
		if f.Adoptable() && slices.Contains(s.Saved, f.Saved) {
			f.Obstacle = NameTaken(f.Saved)
		}
	}
	return l
}

// readPort reads the port, and returns its card; nil if the host does not show it.
func (l *Look) readPort(s *inventory.Snapshot) *inventory.Card {
	if card, p, ok := s.CardByPortGUID(l.PortGUID); ok {
		l.Driver, l.LinkLayer, l.PortState, l.Physical = card.Driver, p.LinkLayer, p.State, p.Physical
		l.SMLID, l.IBMTU = p.SMLID, p.IBMTU
		return card
	}
	if sleeping, ok := platform.FindSleepingPort(s, l.PortGUID); ok {
		l.Sleeping, l.Driver, l.LinkLayer = true, sleeping.Card.Driver, sleeping.LinkLayer
		return sleeping.Card
	}
	return nil
}

// readNetdev reads the interface. One of another kind may have the name that a P_Key child would
// get; it is kept, and the interface counts as not there.
func (l *Look) readNetdev(s *inventory.Snapshot) {
	if parent, ok := s.NetdevByPortGUID(l.PortGUID); ok {
		l.Capable = parent.Connected
	}
	n, ok := s.Netdev(l.Name)
	if !ok {
		return
	}
	l.Netdev = n
	if !n.IB {
		return
	}
	l.Present = true
	l.Live = Live{Up: n.Up, Carrier: n.Carrier, Config: ipoib.Config{Mode: ib.IPoIBMode(n.Mode), MTU: n.MTU,
		Addresses: ipconf.Global(n.Addresses), Routes: ipconf.SortedRoutes(n.Routes)}}
	if l.PKey != 0 && n.PortGUID != l.PortGUID {
		l.OtherGUID = n.PortGUID
	}
}

// readModules reads whether the boot makes the interface that our configuration is for.
func (l *Look) readModules(s *inventory.Snapshot, card *inventory.Card) {
	if l.Persisted.Found {
		l.NotAtBoot = platform.NotAtBoot(s, card, "ib_ipoib")
	}
}
