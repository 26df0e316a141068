package labsim

import (
	"maps"
	"slices"
)

// subnet is a set of InfiniBand ports that reach each other.
type subnet struct {
	ports    []*Port
	switches []*Switch
	adapters []End // ports of adapters without a machine
}

// ibUp says whether the driver runs the port as InfiniBand and it is enabled.
func (p *Port) ibUp() bool {
	m := p.Card.Machine
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up && p.Card.bound && p.admin && p.link == LinkIB
}

func (p *Port) ethUp() bool {
	m := p.Card.Machine
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up && p.Card.bound && p.admin && p.link == LinkETH
}

// allPorts lists every card port of the lab in a stable order. l.mu is held.
func (l *Lab) allPorts() []*Port {
	names := slices.Sorted(maps.Keys(l.machines))
	var ports []*Port
	for _, name := range names {
		m := l.machines[name]
		m.mu.Lock()
		for _, c := range m.cards {
			ports = append(ports, c.Ports...)
		}
		m.mu.Unlock()
	}
	return ports
}

// peers maps every connected end to the other end.
func (l *Lab) peers() map[End]End {
	peers := make(map[End]End, 2*len(l.cables))
	for _, c := range l.cables {
		peers[c.A], peers[c.B] = c.B, c.A
	}
	return peers
}

// cableUp says whether the InfiniBand side of a cable works: both ends are
// enabled and powered.
func (l *Lab) cableUp(c *Cable, byEnd map[End]*Port) bool {
	for _, e := range []End{c.A, c.B} {
		switch {
		case e.Switch != "":
			if s := l.switches[e.Switch]; s == nil || s.disabled[e.Port] {
				return false
			}
		case e.Adapter != "":
			if l.adapters[e.Adapter].Ethernet {
				return false
			}
		case byEnd[e] == nil || !byEnd[e].ibUp():
			return false
		}
	}
	return true
}

// portsByEnd finds the port of a card that a cable ends at.
func portsByEnd(ports []*Port) map[End]*Port {
	byEnd := make(map[End]*Port, len(ports))
	for _, p := range ports {
		byEnd[p.end()] = p
	}
	return byEnd
}

// linkUp computes the physical state of every port and what its link trains at.
func (l *Lab) linkUp(ports []*Port) map[*Port]bool {
	byEnd := portsByEnd(ports)
	up := make(map[*Port]bool, len(ports))
	for _, c := range l.cables {
		a, b := byEnd[c.A], byEnd[c.B]
		switch {
		case l.cableUp(c, byEnd):
			trained := l.trains(c, byEnd).train()
			for _, p := range []*Port{a, b} {
				if p == nil {
					continue
				}
				up[p] = true
				if p.trained == (Trained{}) || p.phys != PhysLinkUp {
					p.trained = trained
				}
			}
		case a != nil && b != nil && a.ethUp() && b.ethUp():
			up[a], up[b] = true, true
		case a != nil && a.ethUp() && c.B.Adapter != "":
			up[a] = true
		}
	}
	return up
}

// trains is what both ends of a cable and the cable itself allow.
func (l *Lab) trains(c *Cable, byEnd map[End]*Port) LinkCaps {
	common := c.Limit
	if common.isZero() {
		common = LinkCaps{-1, -1, -1}
	}
	for _, e := range []End{c.A, c.B} {
		switch {
		case e.Switch != "":
			common = common.and(l.switches[e.Switch].Link.enabledOf(l.switches[e.Switch].May))
		case e.Adapter != "":
			common = common.and(l.adapters[e.Adapter].Link.enabledOf(l.adapters[e.Adapter].May))
		default:
			common = common.and(byEnd[e].enabledCaps())
		}
	}
	return common
}

// node is what a cable's end belongs to: the ports of a switch reach each other, those of a card do not.
func (e End) node() End {
	if e.Switch != "" {
		return SwitchEnd(e.Switch, 0)
	}
	return e
}

// subnets groups the ports with an InfiniBand link.
func (l *Lab) subnets(ports []*Port, up map[*Port]bool) []subnet {
	parent := map[End]End{}
	var find func(End) End
	find = func(x End) End {
		above, known := parent[x]
		if !known || above == x {
			return x
		}
		parent[x] = find(above)
		return parent[x]
	}
	byEnd := portsByEnd(ports)
	for _, c := range l.cables {
		if l.cableUp(c, byEnd) {
			parent[find(c.A.node())] = find(c.B.node())
		}
	}
	groups := map[End]*subnet{}
	var order []End
	for _, p := range ports {
		if !up[p] || p.link != LinkIB {
			continue
		}
		root := find(p.end())
		if groups[root] == nil {
			groups[root] = &subnet{}
			order = append(order, root)
		}
		groups[root].ports = append(groups[root].ports, p)
	}
	for _, name := range sortedKeys(l.switches) {
		if g := groups[find(SwitchEnd(name, 0))]; g != nil {
			g.switches = append(g.switches, l.switches[name])
		}
	}
	for _, name := range sortedKeys(l.adapters) {
		for port := 1; port <= l.adapters[name].Ports; port++ {
			if g := groups[find(AdapterEnd(name, port))]; g != nil {
				g.adapters = append(g.adapters, AdapterEnd(name, port))
			}
		}
	}
	list := make([]subnet, 0, len(order))
	for _, root := range order {
		list = append(list, *groups[root])
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.Sorted(maps.Keys(m))
	return keys
}

// subnetOf returns the subnet of a port, empty if it has no link. l.mu is held.
func (l *Lab) subnetOf(port *Port) subnet {
	ports := l.allPorts()
	for _, s := range l.subnets(ports, l.linkUp(ports)) {
		for _, p := range s.ports {
			if p == port {
				return s
			}
		}
	}
	return subnet{}
}

// Reachable lists the ports of the subnet that port is in, itself included.
func (l *Lab) Reachable(port *Port) []*Port {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.subnetOf(port).ports
}

type portState struct {
	state, phys, lid, smLID, mtu int
	pkeys                        []uint16
}

func (p *Port) snapshot() portState {
	return portState{p.state, p.phys, int(p.lid), int(p.smLID), p.mcastMTU, p.pkeys}
}

func (s portState) equal(o portState) bool {
	return s.state == o.state && s.phys == o.phys && s.lid == o.lid && s.smLID == o.smLID && s.mtu == o.mtu &&
		slices.Equal(s.pkeys, o.pkeys)
}

// Build makes many changes and recomputes the fabric once, at the end: a fabric of a thousand hosts is otherwise
// recomputed for each of its cables.
func (l *Lab) Build(change func() error) error {
	l.mu.Lock()
	l.building = true
	l.mu.Unlock()
	err := change()
	l.mu.Lock()
	l.building = false
	l.mu.Unlock()
	l.Recompute()
	return err
}

// Recompute derives link and port states, elects subnet managers, hands out LIDs
// and tells the machines what changed. Call it without locks held.
func (l *Lab) Recompute() {
	l.mu.Lock()
	if l.building {
		l.mu.Unlock()
		return
	}
	ports := l.allPorts()
	before := make(map[*Port]portState, len(ports))
	for _, p := range ports {
		before[p] = p.snapshot()
	}
	up := l.linkUp(ports)
	for _, p := range ports {
		p.settlePhysical(up[p])
	}
	notify := []func(){}
	inSubnet := map[*SM]bool{}
	managers := map[*Port][]*SM{}
	for _, sm := range l.sms {
		managers[sm.Port] = append(managers[sm.Port], sm)
	}
	for _, s := range l.subnets(ports, up) {
		notify = append(notify, l.manage(s, managers, inSubnet)...)
	}
	for _, sm := range l.sms {
		if !inSubnet[sm] {
			notify = append(notify, sm.setState(SMDiscover)...)
		}
	}
	var changed []*Port
	for _, p := range ports {
		if !before[p].equal(p.snapshot()) {
			changed = append(changed, p)
		}
	}
	l.mu.Unlock()
	for _, f := range notify {
		f()
	}
	for _, p := range changed {
		p.Card.Machine.portChanged(p)
	}
}

func (p *Port) settlePhysical(up bool) {
	switch {
	case up && p.link == LinkETH:
		p.state, p.phys = StateActive, PhysLinkUp
	case up:
		p.phys = PhysLinkUp
		if p.state == StateDown {
			p.state = StateInit
		}
	default:
		p.state, p.phys, p.lid, p.smLID, p.mcastMTU, p.trained, p.pkeys = StateDown, PhysPolling, 0, 0, 0, Trained{}, nil
		if p.link == LinkETH || !p.admin {
			p.phys = PhysDisabled
		}
	}
}

func (sm *SM) setState(state int) []func() {
	if sm.state == state {
		return nil
	}
	sm.state = state
	if sm.OnState == nil {
		return nil
	}
	return []func(){func() { sm.OnState(state) }}
}
