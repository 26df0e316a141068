package labsim

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a lab.
type Options struct {
	Dir   string  // where keys and images are written; may be empty in process
	Speed float64 // simulated seconds per real second, default 1
	// Setup runs once per machine before its first boot: it installs programs
	// and hooks.
	Setup []func(*Machine)
	// FlashDelay is the real time that programming one 4 KiB sector takes, so that
	// a burn can be interrupted; a machine's FlashSlow fault overrides it.
	FlashDelay time.Duration
}

// Lab is everything.
type Lab struct {
	Clock   *Clock
	Options Options

	mu       sync.Mutex
	machines map[string]*Machine
	switches map[string]*Switch
	adapters map[string]*Adapter
	cables   []*Cable
	counters map[End]map[string]uint64
	sms      []*SM
	lids     map[uint64]uint16 // port or switch GUID -> LID, survives SM changes
	nextLID  uint16
	building bool                    // see Build
	leases   map[uint64]netip.Prefix // of the DHCP server of the fabric, by port GUID
}

// New makes an empty lab.
func New(o Options) *Lab {
	return &Lab{
		Clock: newClock(o.Speed), Options: o,
		machines: map[string]*Machine{}, switches: map[string]*Switch{}, adapters: map[string]*Adapter{},
		counters: map[End]map[string]uint64{}, lids: map[uint64]uint16{}, nextLID: 1,
	}
}

// ServeDHCP has a DHCP server of the fabric give addresses to ports; nil is no server.
func (l *Lab) ServeDHCP(leases map[uint64]netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leases = leases
}

// DHCPLease is the address that the DHCP server of the fabric has for a port; invalid if it has none.
func (l *Lab) DHCPLease(port uint64) netip.Prefix {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leases[port]
}

// Machine returns a machine by name, or nil.
func (l *Lab) Machine(name string) *Machine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.machines[name]
}

// Machines returns all machines in name order.
func (l *Lab) Machines() []*Machine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.machines), func(a, b *Machine) int { return strings.Compare(a.Name, b.Name) })
}

// AddSwitch adds an unmanaged FDR switch.
func (l *Lab) AddSwitch(name string, guid uint64, ports int) *Switch {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Switch{
		Name: name, GUID: guid, SystemGUID: guid, Ports: ports, Desc: "SwitchX -  Mellanox Technologies", VendorID: 0x2c9,
		DeviceID: 0xc738, Link: FDR4X,
	}
	l.switches[name] = s
	return s
}

// AddAdapter adds a channel adapter of a host that is no machine of the lab: the
// fabric sees it, nobody logs in to it.
func (l *Lab) AddAdapter(a Adapter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.Link.isZero() {
		a.Link = FDR4X
	}
	a.lids, a.pkeys = map[int]uint16{}, map[int][]uint16{}
	l.adapters[a.Name] = &a
}

// Switches returns the switches in name order.
func (l *Lab) Switches() []*Switch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.switches), func(a, b *Switch) int { return strings.Compare(a.Name, b.Name) })
}

// RememberLIDs has subnet managers give these ports and switches the LIDs that they had, as the files of opensm do.
func (l *Lab) RememberLIDs(lids map[uint64]uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for guid, lid := range lids {
		l.lids[guid] = lid
		l.nextLID = max(l.nextLID, lid+1)
	}
}

// Connect plugs a cable between two ends and recomputes the fabric.
func (l *Lab) Connect(a, b End) error {
	l.mu.Lock()
	for _, c := range l.cables {
		for _, e := range []End{c.A, c.B} {
			if e == a || e == b {
				l.mu.Unlock()
				return fmt.Errorf("labsim: %v is already connected", e)
			}
		}
	}
	l.cables = append(l.cables, &Cable{A: a, B: b})
	l.mu.Unlock()
	l.Recompute()
	return nil
}

// Disconnect pulls the cable at an end and recomputes the fabric.
func (l *Lab) Disconnect(e End) bool {
	l.mu.Lock()
	found := false
	for i, c := range l.cables {
		if c.A == e || c.B == e {
			l.cables = append(l.cables[:i:i], l.cables[i+1:]...)
			found = true
			break
		}
	}
	l.mu.Unlock()
	l.Recompute()
	return found
}

// End is one end of a cable: a card's port or a switch's port.
type End struct {
	Machine string // empty for a switch
	BDF     string // PCI address of the card
	Switch  string
	Adapter string // name of an adapter without a machine
	Port    int    // from 1
}

// Peer is the end at the other side of a cable.
func (l *Lab) Peer(e End) (other End, connected bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	other, connected = l.peers()[e]
	return other, connected
}

// CardEnd is the end at a card's port.
func CardEnd(machine, bdf string, port int) End { return End{Machine: machine, BDF: bdf, Port: port} }

// SwitchEnd is the end at a switch's port.
func SwitchEnd(name string, port int) End { return End{Switch: name, Port: port} }

// AdapterEnd is the end at the port of an adapter without a machine.
func AdapterEnd(name string, port int) End { return End{Adapter: name, Port: port} }

// Cable joins two ends.
type Cable struct {
	A, B  End
	Limit LinkCaps // what it carries; zero: anything
}

// Switch is an unmanaged InfiniBand switch.
type Switch struct {
	Name  string
	GUID  uint64
	Ports int
	Desc  string
	LID   uint16

	SystemGUID uint64
	VendorID   uint32
	DeviceID   uint16
	Link, May  LinkCaps // supported and enabled; May zero: all
	MaxMTU     int      // default 4096
	// Firmware and PSID are what its agent answers to vendstat, as the tool prints them; empty: it has none.
	Firmware, PSID string
	SMLID          uint16
	active         bool // a subnet manager has set it up
	disabled       map[int]bool
}

// Adapter is a channel adapter that the lab knows from the fabric only.
type Adapter struct {
	Name             string
	Desc             string
	GUID, SystemGUID uint64 // the GUID of port N is GUID + N
	Ports            int
	VendorID         uint32
	DeviceID         uint16
	Link, May        LinkCaps // supported and enabled; May zero: all
	MaxMTU           int      // default 4096
	CapMask          uint32   // default that of a ConnectX-3
	Ethernet         bool     // its ports are Ethernet, which no fabric sees

	active bool
	smLID  uint16
	lids   map[int]uint16 // by port
	pkeys  map[int][]uint16
}
