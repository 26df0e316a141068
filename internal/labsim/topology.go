package labsim

import "cmp"

// Topology is the fabric as management datagrams sent from one port find it, a
// copy that does not change.
type Topology struct {
	Nodes      []*Node // in the order of discovery; the first is the one that asks
	From       *Node
	FromPort   int
	Duplicates []uint64 // port GUIDs that a second adapter has, in the order met
}

// Node is a channel adapter or a switch.
type Node struct {
	Switch           bool
	GUID, SystemGUID uint64
	Desc             string
	VendorID         uint32
	DeviceID         uint16
	Ports            []*NodePort // by number; 0 is a switch's own, an adapter has none
	Firmware, PSID   string      // of a switch with an agent of the vendor's class
}

// NodePort is one port of a node.
type NodePort struct {
	Node      *Node
	Number    int
	GUID      uint64 // of an adapter's port; the node's of a switch's
	End       End
	LID       uint16
	SMLID     uint16
	State     int
	PhysState int
	Can, May  LinkCaps
	Trained   Trained
	MTU       int // of the link
	MTUCap    int // the most the port can
	CapMask   uint32
	IsSM      bool
	PKeys     []uint16
	Counters  map[string]uint64
	Peer      *NodePort // other end of a working cable
	Known     bool      // met by the discovery
}

// Discover looks at the fabric from a port, as ibnetdiscover does.
func (l *Lab) Discover(from *Port) *Topology {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.survey().discover(from.end())
}

// survey is every port of the lab by its end, cabled.
type survey map[End]*NodePort

func (l *Lab) survey() survey {
	ports := l.allPorts()
	all := survey{}
	nodes := map[*Card]*Node{}
	for _, p := range ports {
		l.surveyCard(all, nodes, p)
	}
	for _, name := range sortedKeys(l.switches) {
		l.surveySwitch(all, l.switches[name])
	}
	for _, name := range sortedKeys(l.adapters) {
		l.surveyAdapter(all, l.adapters[name])
	}
	byEnd := portsByEnd(ports)
	for _, c := range l.cables {
		a, b := all[c.A], all[c.B]
		if a == nil || b == nil || !l.cableUp(c, byEnd) {
			continue
		}
		a.Peer, b.Peer = b, a
		trained := l.trains(c, byEnd).train()
		for _, p := range []*Port{byEnd[c.A], byEnd[c.B]} {
			if p != nil && p.trained != (Trained{}) {
				trained = p.trained
			}
		}
		a.join(trained, b)
		b.join(trained, a)
	}
	return all
}

// join sets what a working cable means for one of its ends.
func (p *NodePort) join(trained Trained, peer *NodePort) {
	p.Trained, p.PhysState = trained, PhysLinkUp
	p.MTU = min(p.MTU, peer.MTU)
	if p.Node.Switch && !peer.Node.Switch {
		p.State = peer.State
	}
	if p.State == StateDown {
		p.State = StateInit
	}
}

func (l *Lab) surveyCard(all survey, nodes map[*Card]*Node, p *Port) {
	v := p.view(l)
	n := nodes[p.Card]
	if n == nil {
		n = &Node{
			GUID: v.NodeGUID, SystemGUID: v.SystemGUID, Desc: v.Description, VendorID: p.Card.oui(), DeviceID: p.Card.device(),
			Ports: make([]*NodePort, len(p.Card.Ports)+1),
		}
		nodes[p.Card] = n
	}
	np := &NodePort{
		Node: n, Number: v.Number, GUID: v.GUID, End: p.end(), LID: v.LID, SMLID: v.SMLID, State: v.State,
		PhysState: v.PhysState,
		Can:       v.Can, May: v.May, MTU: v.MaxIBMTU, MTUCap: v.MaxIBMTU, CapMask: v.CapMask, IsSM: v.IsSM, PKeys: v.PKeys,
		Counters: l.counters[p.end()],
	}
	if v.LinkType != LinkIB {
		np.State, np.LID, np.SMLID = StateDown, 0, 0
	}
	n.Ports[v.Number], all[np.End] = np, np
}

// oui is the vendor as InfiniBand numbers it.
func (c *Card) oui() uint32 {
	if c.Config.Model.Vendor == 0x1077 {
		return 0x1175 // QLogic
	}
	return 0x2c9
}

// switchCaps is the CapMask of a switch's own port.
const switchCaps = 0xc048

func (s *Switch) maxMTU() int { return cmp.Or(s.MaxMTU, 4096) }

func (a *Adapter) maxMTU() int { return cmp.Or(a.MaxMTU, 4096) }

func (a *Adapter) capMask() uint32 { return cmp.Or(a.CapMask, defaultCapMask) }

func (l *Lab) surveySwitch(all survey, s *Switch) {
	n := &Node{Switch: true, GUID: s.GUID, SystemGUID: s.SystemGUID, Desc: s.Desc, VendorID: s.VendorID,
		DeviceID: s.DeviceID, Ports: make([]*NodePort, s.Ports+1), Firmware: s.Firmware, PSID: s.PSID}
	for i := range n.Ports {
		end := SwitchEnd(s.Name, i)
		p := &NodePort{Node: n, Number: i, GUID: s.GUID, End: end, State: StateDown, PhysState: PhysPolling, Can: s.Link,
			May: s.Link.enabledOf(s.May), MTU: s.maxMTU(), MTUCap: s.maxMTU(),
			PKeys: []uint16{0xffff}, Counters: l.counters[end]}
		switch {
		case i == 0:
			p.LID, p.SMLID, p.State, p.PhysState, p.CapMask = s.LID, s.SMLID, StateActive, PhysLinkUp, switchCaps
		case s.disabled[i]:
			p.PhysState = PhysDisabled
		case s.active:
			p.State = StateActive // if it has a link; see below
		}
		n.Ports[i], all[end] = p, p
	}
	peers := l.peers()
	for _, p := range n.Ports[1:] {
		if _, cabled := peers[p.End]; !cabled {
			p.State = StateDown
		}
	}
}

func (l *Lab) surveyAdapter(all survey, a *Adapter) {
	n := &Node{GUID: a.GUID, SystemGUID: a.SystemGUID, Desc: a.Desc, VendorID: a.VendorID, DeviceID: a.DeviceID,
		Ports: make([]*NodePort, a.Ports+1)}
	for i := 1; i <= a.Ports; i++ {
		end := AdapterEnd(a.Name, i)
		p := &NodePort{Node: n, Number: i, GUID: a.GUID + uint64(i), End: end, State: StateDown, PhysState: PhysPolling,
			Can: a.Link, May: a.Link.enabledOf(a.May),
			MTU: a.maxMTU(), MTUCap: a.maxMTU(), CapMask: a.capMask(), PKeys: keysOr(a.pkeys[i]), Counters: l.counters[end]}
		if a.lids[i] != 0 {
			p.LID, p.SMLID, p.State = a.lids[i], a.smLID, StateActive
		}
		n.Ports[i], all[end] = p, p
	}
}

// discover walks the fabric as libibnetdisc does: breadth first, the ports of a
// switch in order, through no adapter. Nodes are told apart by their GUID alone,
// so that a second adapter with the GUIDs of a known one is a complaint and its
// cable leads nowhere.
func (all survey) discover(from End) *Topology {
	start := all[from]
	t := &Topology{From: start.Node, FromPort: from.Port}
	met := map[uint64]*Node{}
	guids := map[uint64]bool{}
	t.meet(start, met, guids)
	for queue := t.first(start); len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		other := p.Peer
		if other.Known && other.Node == met[other.Node.GUID] {
			continue // reached before, from the other side
		}
		isNew := met[other.Node.GUID] == nil
		if !t.meet(other, met, guids) {
			other.Peer, p.Peer = nil, nil
			continue
		}
		if isNew && other.Node.Switch {
			queue = append(queue, other.Node.leave(other.Number)...)
		}
	}
	for end, p := range all {
		if p.Peer != nil && (!p.Known && !p.Node.Switch || !p.Peer.Known && !p.Peer.Node.Switch) {
			all[end].Peer = nil
		}
	}
	return t
}

// first is where the walk begins: an adapter leaves by the port that asks only.
func (t *Topology) first(start *NodePort) []*NodePort {
	if start.Peer == nil || start.PhysState != PhysLinkUp {
		return nil
	}
	return []*NodePort{start}
}

// leave lists the ports of a switch that lead on.
func (n *Node) leave(arrived int) []*NodePort {
	var list []*NodePort
	for _, p := range n.Ports[1:] {
		if p.Number != arrived && p.Peer != nil {
			list = append(list, p)
		}
	}
	return list
}

// meet notes a port, and its node if it is new; false means that the GUID of the
// port belongs to another one already.
func (t *Topology) meet(p *NodePort, met map[uint64]*Node, guids map[uint64]bool) bool {
	if !p.Node.Switch {
		if guids[p.GUID] {
			t.Duplicates = append(t.Duplicates, p.GUID)
			return false
		}
		guids[p.GUID] = true
	}
	if met[p.Node.GUID] == nil {
		met[p.Node.GUID] = p.Node
		t.Nodes = append(t.Nodes, p.Node)
	}
	p.Known = true
	if p.Node.Switch {
		for _, q := range p.Node.Ports {
			q.Known = true
		}
	}
	return true
}
