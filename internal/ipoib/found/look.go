package found

import (
	"slices"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
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
	if l.Bond.Name != "" {
		l.readBond(s)
	} else {
		l.readNetdev(s)
	}
	if s.TrueNAS != nil {
		l.readStoredRow(h.middleware())
		l.readModules(s, card)
		return l
	}
	if l.Stack == ipoib.StackUnknown {
		l.Silence = h.running.Why()
	}
	l.Persisted = readerOf(l.Stack, t).own(h, t)
	if l.Live.DHCP4 = l.Persisted.Config.DHCP4; l.Live.DHCP4 {
		l.Live.Addresses = ipconf.Without(l.Live.Addresses, l.Live.Leased)
	}
	l.readModules(s, card)
	l.readEdits()
	for _, read := range definitions {
		l.Unmanaged = append(l.Unmanaged, read(h, t)...)
	}
	l.Unmanaged = append(l.Unmanaged, l.unmanagedPorts()...)
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
	for _, a := range l.Live.Addresses {
		if n.Dynamic[a] && a.Addr().Is4() {
			l.Live.Leased = append(l.Live.Leased, a)
		}
	}
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

// hostKey is the key of these facts in what is derived from its snapshot.
type hostKey struct{}

// hostOf makes the facts of a snapshot, or gives those that were made. The running services come
// first, because the network stack follows from them.
func hostOf(s *inventory.Snapshot) *hostFacts {
	return inventory.Derive(s, hostKey{}, func() *hostFacts {
		h := &hostFacts{snap: s}
		h.running = runningStacks(s)
		h.stack = h.detectStack()
		h.middleware = sync.OnceValue(func() *Middleware { return readMiddleware(s.TrueNAS) })
		return h
	})
}

// at gives the look at one interface, which is made once.
func (h *hostFacts) at(ref ipoib.Ref) *Look {
	if ref.PKey == ipoib.DefaultPKey {
		ref.PKey = 0
	}
	l, _ := h.looks.Get(ref, "", func() (*Look, error) { return newLook(h, ref), nil })
	return l
}

// unmanagedPorts are the definitions of others for the ports of a bond. They are to be removed, not to
// be taken over: what they say of addresses a port of a bond cannot have.
func (l *Look) unmanagedPorts() (all []Unmanaged) {
	for _, p := range l.Ports {
		t := newTarget(l.host, ipoib.Ref{PortGUID: p.GUID})
		for _, read := range definitions {
			for _, f := range read(l.host, t) {
				line := func(other Unmanaged) bool { return other.Line == f.Line }
				if !slices.ContainsFunc(slices.Concat(l.Unmanaged, all), line) {
					all = append(all, f.ofOtherStack())
				}
			}
		}
	}
	return all
}
