package labsim

import (
	"cmp"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// States of an InfiniBand port.
const (
	StateDown   = 1
	StateInit   = 2
	StateActive = 4

	PhysPolling  = 2
	PhysDisabled = 3
	PhysLinkUp   = 5
)

// Link types of a port, as mlx4_portN shows them.
const (
	LinkIB  = "ib"
	LinkETH = "eth"
)

// CardConfig describes an adapter in a machine.
type CardConfig struct {
	card.Config
	BDF          string // full PCI address
	Slot         string // physical slot number, for names like ibs4; empty: path names
	Product      string // VPD product name
	PartNumber   string // VPD PN
	SerialNumber string // VPD SN
	SubsystemID  uint16
	LinkWidth    int    // lanes in use, default: all
	SlotSpeed    string // of the slot, default: the card's best
	MaxIBMTU     int    // default: the model's
	Node         int    // NUMA node of the slot, from 1; 0: the firmware of the machine does not tell
	Temperatures []int  // in degrees Celsius: of the chip and of the module
	Model        *Model // default: MLX4
	SamePorts    bool
	// Link is what the ports can do, by default what the model can.
	Link    LinkCaps
	CapMask uint32 // of the ports, without IsSM; default that of a ConnectX-3
	NoReset bool   // its firmware offers no reset while the host runs
}

// defaultCapMask is what a ConnectX-3 shows; isSM is set while a subnet manager
// runs on the port.
const (
	defaultCapMask = 0x02594868
	isSM           = 2
)

// Card is an adapter in a machine: the card model and how the kernel sees it.
type Card struct {
	*card.Card
	Config  CardConfig
	Machine *Machine
	// RDMA is the name in /sys/class/infiniband; empty without an IB driver.
	RDMA     string
	Ports    []*Port
	linkDown bool // the PCI link, see SetLink
	bound    bool
	renaming *Timer // of the RDMA device, by udev
	virtual  []VirtualPort
}

// Port is one port of a card. Read it through Snapshot.
type Port struct {
	Card   *Card
	Number int // from 1

	link     string // ib or eth: what the driver runs
	auto     bool   // link type is sensed
	wanted   string // remembered by a refused write (cards with SamePorts)
	admin    bool   // false: disabled by ibportstate
	state    int
	phys     int
	lid      uint16
	smLID    uint16
	prefix   uint64   // of the subnet; 0: the default one
	pkeys    []uint16 // P_Key table; nil: the one key that every port begins with
	mKey     uint64   // that a subnet manager has set
	mProtect int      // its protection level
	mcastMTU int      // IB MTU of the broadcast group the port joined; 0: none
	may      LinkCaps // what the port may train at; zero: all it can
	trained  Trained  // of the present link
}

// PortView is a consistent copy of a port's state.
type PortView struct {
	Machine     string
	BDF         string
	Number      int
	LinkType    string // ib or eth
	Auto        bool
	NodeGUID    uint64
	SystemGUID  uint64
	GUID        uint64 // port GUID; of the running firmware
	MAC         uint64
	State       int
	PhysState   int
	LID         uint16
	SMLID       uint16
	IsSM        bool
	MaxIBMTU    int
	GroupMTU    int    // IB MTU of the broadcast group; 0: not joined
	RDMA        string // device name
	Prefix      uint64 // of the subnet; 0: the default one
	Description string // node description
	Trained     Trained
	Can, May    LinkCaps // supported and enabled
	Enabled     bool     // false: disabled by ibportstate
	CapMask     uint32
	PKeys       []uint16
}

// View returns the state of the port.
func (p *Port) View() PortView {
	l := p.Card.Machine.Lab
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.view(l)
}

func (p *Port) view(l *Lab) PortView {
	fw := p.Card.Running()
	v := PortView{
		Machine: p.Card.Machine.Name, BDF: p.Card.Config.BDF, Number: p.Number, LinkType: p.link, Auto: p.auto,
		NodeGUID: fw.GUIDs[0], GUID: fw.GUIDs[p.Number], SystemGUID: fw.GUIDs[3], MAC: fw.MACs[p.Number-1],
		// as the port has them; drivers show 0 in ways of their own
		State: p.state, PhysState: p.phys, LID: p.lid, SMLID: p.smLID,
		MaxIBMTU: p.Card.Config.MaxIBMTU, GroupMTU: p.mcastMTU, PKeys: keysOr(p.pkeys), RDMA: p.Card.RDMA, Prefix: p.prefix,
		Description: fmt.Sprintf("%s %s", p.Card.Machine.Name,
			p.Card.RDMA), Trained: p.trained, Can: p.canDo(), May: p.enabledCaps(), Enabled: p.admin,
		CapMask: cmp.Or(p.Card.Config.CapMask, defaultCapMask),
	}
	for _, sm := range l.sms {
		if sm.Port == p {
			v.IsSM = true
			v.CapMask |= isSM
		}
	}
	return v
}

func (p *Port) enabledCaps() LinkCaps { return p.canDo().enabledOf(p.may) }

func (p *Port) end() End {
	return CardEnd(p.Card.Machine.Name, p.Card.Config.BDF, p.Number)
}

// Cards returns the adapters of a machine.
func (m *Machine) Cards() []*Card {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*Card{}, m.cards...)
}

// Card finds an adapter by its full PCI address.
func (m *Machine) Card(bdf string) *Card {
	for _, c := range m.Cards() {
		if c.Config.BDF == bdf {
			return c
		}
	}
	return nil
}

// PortByGUID finds a bound InfiniBand port by its port GUID.
func (m *Machine) PortByGUID(guid uint64) *Port {
	for _, c := range m.Cards() {
		for _, p := range c.Ports {
			if v := p.View(); v.GUID == guid && v.LinkType == LinkIB && c.Bound() {
				return p
			}
		}
	}
	return nil
}

// Bound says whether the driver has bound the card.
func (c *Card) Bound() bool {
	c.Machine.mu.Lock()
	defer c.Machine.mu.Unlock()
	return c.bound
}
