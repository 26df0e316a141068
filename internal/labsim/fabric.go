package labsim

import "sort"

// subnet is a set of InfiniBand ports that reach each other.
type subnet struct {
	ports    []*Port
	switches []*Switch
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
	names := make([]string, 0, len(l.machines))
	for name := range l.machines {
		names = append(names, name)
	}
	sort.Strings(names)
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

// linkUp computes the physical state of every port.
func (l *Lab) linkUp(ports []*Port) map[*Port]bool {
	peers := l.peers()
	byEnd := make(map[End]*Port, len(ports))
	for _, p := range ports {
		byEnd[p.end()] = p
	}
	up := make(map[*Port]bool, len(ports))
	for _, p := range ports {
		peer, connected := peers[p.end()]
		switch {
		case !connected:
		case peer.Switch != "":
			up[p] = p.ibUp()
		case p.ibUp():
			up[p] = byEnd[peer] != nil && byEnd[peer].ibUp()
		default:
			up[p] = p.ethUp() && byEnd[peer] != nil && byEnd[peer].ethUp()
		}
	}
	return up
}

// subnets groups the ports with an InfiniBand link.
func (l *Lab) subnets(ports []*Port, up map[*Port]bool) []subnet {
	peers := l.peers()
	parent := map[string]string{}
	var find func(string) string
	find = func(x string) string {
		if parent[x] == "" || parent[x] == x {
			parent[x] = x
			return x
		}
		parent[x] = find(parent[x])
		return parent[x]
	}
	key := func(e End) string {
		if e.Switch != "" {
			return "switch " + e.Switch
		}
		return "port " + e.Machine + " " + e.BDF + string(rune('0'+e.Port))
	}
	for _, c := range l.cables {
		if c.A.Switch != "" && c.B.Switch != "" {
			parent[find(key(c.A))] = find(key(c.B))
		}
	}
	for _, p := range ports {
		if up[p] && p.link == LinkIB {
			parent[find(key(p.end()))] = find(key(peers[p.end()]))
		}
	}
	groups := map[string]*subnet{}
	var order []string
	for _, p := range ports {
		if !up[p] || p.link != LinkIB {
			continue
		}
		root := find(key(p.end()))
		if groups[root] == nil {
			groups[root] = &subnet{}
			order = append(order, root)
		}
		groups[root].ports = append(groups[root].ports, p)
	}
	for _, name := range sortedKeys(l.switches) {
		if g := groups[find("switch "+name)]; g != nil {
			g.switches = append(g.switches, l.switches[name])
		}
	}
	list := make([]subnet, 0, len(order))
	for _, root := range order {
		list = append(list, *groups[root])
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
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

// SubnetSwitches lists the switches of the subnet that port is in.
func (l *Lab) SubnetSwitches(port *Port) []Switch {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Switch
	for _, s := range l.subnetOf(port).switches {
		list = append(list, *s)
	}
	return list
}

type portState struct{ state, phys, lid, smLID, mtu int }

func (p *Port) snapshot() portState {
	return portState{p.state, p.phys, int(p.lid), int(p.smLID), p.mcastMTU}
}

// Recompute derives link and port states, elects subnet managers, hands out LIDs
// and tells the machines what changed. Call it without locks held.
func (l *Lab) Recompute() {
	l.mu.Lock()
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
	for _, s := range l.subnets(ports, up) {
		notify = append(notify, l.manage(s, inSubnet)...)
	}
	for _, sm := range l.sms {
		if !inSubnet[sm] {
			notify = append(notify, sm.setState(SMDiscover)...)
		}
	}
	var changed []*Port
	for _, p := range ports {
		if before[p] != p.snapshot() {
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
		p.state, p.phys, p.lid, p.smLID, p.mcastMTU = StateDown, PhysPolling, 0, 0, 0
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

func validGUID(g uint64) bool { return g != 0 && g != ^uint64(0) }

// duplicates says whether two different nodes or ports of a subnet have one GUID.
// All-ones GUIDs count: two cards cross-flashed from EN firmware have them.
func (s subnet) duplicates() bool {
	nodes, seen := map[uint64]*Card{}, map[uint64]*Port{}
	for _, p := range s.ports {
		fw := p.Card.Running()
		node, guid := fw.GUIDs[0], fw.GUIDs[p.Number]
		if node != 0 {
			if c := nodes[node]; c != nil && c != p.Card {
				return true
			}
			nodes[node] = p.Card
		}
		if guid != 0 {
			if q := seen[guid]; q != nil && q != p {
				return true
			}
			seen[guid] = p
		}
	}
	return false
}

// manage runs the subnet managers of one subnet: one duplicated GUID keeps them
// all discovering and every port at Initialize (opensm 3.3.23, ERR 0D01); a zero
// GUID keeps only its own port there (ERR 0D16).
func (l *Lab) manage(s subnet, inSubnet map[*SM]bool) []func() {
	member := map[*Port]bool{}
	for _, p := range s.ports {
		member[p] = true
	}
	var notify []func()
	var master *SM
	var here []*SM
	for _, sm := range l.sms {
		if !member[sm.Port] {
			continue
		}
		inSubnet[sm] = true
		here = append(here, sm)
		if master == nil || sm.beats(master) {
			master = sm
		}
	}
	if master == nil {
		return nil
	}
	if s.duplicates() {
		for _, sm := range here {
			notify = append(notify, sm.setState(SMDiscover)...)
		}
		for _, p := range s.ports {
			p.state, p.lid, p.smLID, p.mcastMTU = StateInit, 0, 0, 0
		}
		return notify
	}
	for _, sm := range here {
		state := SMStandby
		if sm == master {
			state = SMMaster
		}
		notify = append(notify, sm.setState(state)...)
	}
	l.program(s, master)
	return notify
}

func (sm *SM) beats(other *SM) bool {
	if sm.Priority != other.Priority {
		return sm.Priority > other.Priority
	}
	return sm.guid() < other.guid()
}

func (sm *SM) guid() uint64 { return sm.Port.Card.Running().GUIDs[sm.Port.Number] }

// program is the master's sweep: LIDs, SM LID, Active, broadcast group.
func (l *Lab) program(s subnet, master *SM) {
	smLID := l.lidFor(master.guid())
	for _, sw := range s.switches {
		sw.LID = l.lidFor(sw.GUID)
	}
	for _, p := range s.ports {
		fw := p.Card.Running()
		if !validGUID(fw.GUIDs[0]) || !validGUID(fw.GUIDs[p.Number]) {
			p.state, p.lid, p.smLID, p.mcastMTU = StateInit, 0, 0, 0
			continue
		}
		p.state, p.lid, p.smLID = StateActive, l.lidFor(fw.GUIDs[p.Number]), smLID
		p.mcastMTU = 0
		if master.GroupMTU <= p.Card.Config.MaxIBMTU && master.GroupMTU > 0 {
			p.mcastMTU = master.GroupMTU
		}
	}
}

func (l *Lab) lidFor(guid uint64) uint16 {
	if l.lids[guid] == 0 {
		l.lids[guid] = l.nextLID
		l.nextLID++
	}
	return l.lids[guid]
}
