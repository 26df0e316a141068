package labsim

import "maps"

// States of a subnet manager, as sminfo prints their numbers.
const (
	SMNotActive = 0
	SMDiscover  = 1
	SMStandby   = 2
	SMMaster    = 3
)

// SM is a running subnet manager on one port. Register it with Lab.AddSM.
type SM struct {
	Port     *Port
	Priority int
	// GroupMTU is the IB MTU of the default partition's broadcast group,
	// default 2048; 0 after a rejected partition file means no group.
	GroupMTU int
	// PKeys are the partitions of the subnet by P_Key without the member bit,
	// beyond the default one, with their broadcast group's IB MTU.
	PKeys map[uint16]int
	// Partitions are all partitions with their members, if a partition file was
	// read; GroupMTU and PKeys follow from it then.
	Partitions []Partition
	// Prefix is the subnet prefix; 0: the default one.
	Prefix uint64
	// SMKey is what other subnet managers must have, too, or are ignored. MKey and MProtect are what it gives to
	// ports, and Known what it remembers that ports have, by their GUIDs.
	SMKey, MKey uint64
	MProtect    int
	Known       map[uint64]uint64
	// OnState is called without locks when the state changes.
	OnState func(state int)

	lab     *Lab
	state   int
	stopped bool
	foreign uint64 // sm_key of another subnet manager that it ignores; 0: none
	locked  bool   // ports have an M_Key that it does not know
}

// AddSM starts a subnet manager and recomputes the fabric.
func (l *Lab) AddSM(sm *SM) *SM {
	l.mu.Lock()
	sm.lab = l
	if sm.GroupMTU == 0 {
		sm.GroupMTU = 2048
	}
	if sm.SMKey == 0 {
		sm.SMKey = 1
	}
	l.sms = append(l.sms, sm)
	l.mu.Unlock()
	l.Recompute()
	return sm
}

// Stop ends the subnet manager. Ports keep state and LIDs, as without an SM.
func (sm *SM) Stop() {
	l := sm.lab
	l.mu.Lock()
	for i, s := range l.sms {
		if s == sm {
			l.sms = append(l.sms[:i:i], l.sms[i+1:]...)
			break
		}
	}
	sm.stopped, sm.state = true, SMNotActive
	l.mu.Unlock()
	l.Recompute()
}

// Update changes priority or partitions and recomputes the fabric.
func (sm *SM) Update(change func(*SM)) {
	sm.lab.mu.Lock()
	change(sm)
	sm.lab.mu.Unlock()
	sm.lab.Recompute()
}

// Trouble says what keys keep it from: the sm_key of another subnet manager, which it ignores, and whether ports
// refuse it.
func (sm *SM) Trouble() (foreign uint64, locked bool) {
	sm.lab.mu.Lock()
	defer sm.lab.mu.Unlock()
	return sm.foreign, sm.locked
}

// KnownKeys are the M_Keys of the ports as it remembers them.
func (sm *SM) KnownKeys() map[uint64]uint64 {
	sm.lab.mu.Lock()
	defer sm.lab.mu.Unlock()
	return maps.Clone(sm.Known)
}

// State returns the present state.
func (sm *SM) State() int {
	sm.lab.mu.Lock()
	defer sm.lab.mu.Unlock()
	return sm.state
}

// SMView describes a subnet manager seen from a port.
type SMView struct {
	Machine  string
	GUID     uint64
	LID      uint16
	Priority int
	State    int
}

// SubnetManagers returns the subnet managers of the subnet that port is in.
func (l *Lab) SubnetManagers(port *Port) []SMView {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := map[*Port]bool{}
	for _, p := range l.subnetOf(port).ports {
		in[p] = true
	}
	var list []SMView
	for _, sm := range l.sms {
		if in[sm.Port] {
			v := sm.Port.view(l)
			list = append(list, SMView{Machine: v.Machine, GUID: v.GUID, LID: v.LID, Priority: sm.Priority, State: sm.state})
		}
	}
	return list
}
