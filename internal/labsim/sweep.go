package labsim

import (
	"math/bits"
	"slices"
)

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
func (l *Lab) manage(s subnet, managers map[*Port][]*SM, inSubnet map[*SM]bool) []func() {
	var notify []func()
	var master *SM
	var here []*SM
	for _, p := range s.ports {
		for _, sm := range managers[p] {
			inSubnet[sm] = true
			here = append(here, sm)
			if master == nil || sm.beats(master) {
				master = sm
			}
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
		l.unmanage(s)
		return notify
	}
	l.program(s, master)
	for _, sm := range here {
		state := SMStandby
		if sm.first(here) {
			state = SMMaster
		}
		notify = append(notify, sm.setState(state)...)
	}
	return notify
}

// first reports whether no other with the same sm_key beats it. Those with another one are ignored: each rules.
func (sm *SM) first(here []*SM) bool {
	sm.foreign = 0
	rules := true
	for _, other := range here {
		switch {
		case other.SMKey != sm.SMKey:
			sm.foreign = other.SMKey
		case other != sm && other.beats(sm):
			rules = false
		}
	}
	return rules
}

// unlocks reports whether the subnet manager may set a port, and gives it the M_Key. What it remembers counts before
// its own.
func (sm *SM) unlocks(p *Port, guid uint64) bool {
	key, remembers := sm.Known[guid]
	if !remembers {
		key = sm.MKey
	}
	if p.mKey != 0 && p.mProtect > 0 && p.mKey != key {
		return false
	}
	if sm.Known == nil {
		sm.Known = map[uint64]uint64{}
	}
	p.mKey, p.mProtect, sm.Known[guid] = sm.MKey, sm.MProtect, sm.MKey
	return true
}

func (sm *SM) beats(other *SM) bool {
	if sm.Priority != other.Priority {
		return sm.Priority > other.Priority
	}
	return sm.guid() < other.guid()
}

func (sm *SM) guid() uint64 { return sm.Port.Card.Running().GUIDs[sm.Port.Number] }

// unmanage takes back what a subnet manager had set up beyond the ports.
func (l *Lab) unmanage(s subnet) {
	for _, sw := range s.switches {
		sw.LID, sw.SMLID, sw.active = 0, 0, false
	}
	for _, e := range s.adapters {
		a := l.adapters[e.Adapter]
		a.active, a.smLID, a.lids[e.Port] = false, 0, 0
	}
}

// number hands out LIDs as opensm does: the master's port first, then by GUID.
// opensm keeps its ports in a map ordered by the GUID as it is on the wire, so
// that on little-endian hosts the last byte counts first.
func (l *Lab) number(s subnet, master *SM) {
	var guids []uint64
	for _, sw := range s.switches {
		guids = append(guids, sw.GUID)
	}
	for _, e := range s.adapters {
		guids = append(guids, l.adapters[e.Adapter].GUID+uint64(e.Port))
	}
	for _, p := range s.ports {
		fw := p.Card.Running()
		if validGUID(fw.GUIDs[0]) && validGUID(fw.GUIDs[p.Number]) {
			guids = append(guids, fw.GUIDs[p.Number])
		}
	}
	slices.SortFunc(guids, func(a, b uint64) int {
		if bits.ReverseBytes64(a) < bits.ReverseBytes64(b) {
			return -1
		}
		return 1
	})
	l.lidFor(master.guid())
	for _, guid := range guids {
		l.lidFor(guid)
	}
}

// program is the master's sweep: LIDs, SM LID, Active, broadcast group.
func (l *Lab) program(s subnet, master *SM) {
	l.number(s, master)
	smLID := l.lidFor(master.guid())
	for _, sw := range s.switches {
		sw.LID, sw.SMLID, sw.active = l.lidFor(sw.GUID), smLID, true
	}
	for _, e := range s.adapters {
		a := l.adapters[e.Adapter]
		a.active, a.smLID, a.lids[e.Port] = true, smLID, l.lidFor(a.GUID+uint64(e.Port))
		a.pkeys[e.Port] = master.table(a.GUID + uint64(e.Port))
	}
	master.locked = false
	for _, p := range s.ports {
		fw := p.Card.Running()
		if !validGUID(fw.GUIDs[0]) || !validGUID(fw.GUIDs[p.Number]) {
			p.state, p.lid, p.smLID, p.mcastMTU = StateInit, 0, 0, 0
			continue
		}
		if !master.unlocks(p, fw.GUIDs[p.Number]) {
			master.locked = true
			continue
		}
		p.state, p.lid, p.smLID = StateActive, l.lidFor(fw.GUIDs[p.Number]), smLID
		p.mcastMTU, p.pkeys = 0, master.table(fw.GUIDs[p.Number])
		// mlx5 keeps the default prefix under recent kernels (linux-rdma/opensm issue 36).
		if p.Card.Config.Model.Driver != "mlx5_core" {
			p.prefix = master.Prefix
		}
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
