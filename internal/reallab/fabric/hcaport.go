package fabric

import (
	"cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Node is what a card says of itself.
type Node struct {
	Description string
	GUID        uint64
	System      uint64
	Ports       int
	Device      uint16 // PCI id
	Revision    uint32
	Abilities   Abilities
}

// Events is told what happens to a port of a card. The methods are called in the world.
type Events interface {
	// StateChanged tells of a port that became active, or went down.
	StateChanged(number int, active bool)
	// Deliver takes a packet that came for a queue pair.
	Deliver(number int, packet *wire.Packet)
}

// HCAPort is a port of a card with the agents that its firmware runs.
type HCAPort struct {
	port
	node   Node
	number int
	guid   uint64
	events Events
	all    []*HCAPort
	check  keyCheck
	notify *notifier
}

// NewHCAPorts makes the ports of a card. They are off.
func NewHCAPorts(w *wire.World, n int, events Events) []*HCAPort {
	all := make([]*HCAPort, n)
	for i := range all {
		p := &HCAPort{number: i + 1, events: events}
		p.wire = wire.NewPort(w, p)
		p.check = keyCheck{port: &p.port, after: w.After}
		p.notify = newNotifier(w, producerCA, &p.port, func(k *wire.Packet) { p.Send(k) })
		all[i] = p
	}
	for _, p := range all {
		p.all = all
		p.reset(byte(p.number), hcaPKeys)
	}
	return all
}

// hcaPKeys is the size of a card's P_Key table.
const hcaPKeys = 128

// capabilities of a port before a driver adds its own: automatic migration, SL mapping,
// system image GUID, extended speeds, communication management, reinitialisation,
// client reregistration.
const capabilities = 0x02514868

// Reset is the port after the card has booted. Its link is down.
func (p *HCAPort) Reset(node Node, guid uint64) {
	p.wire.SetEnabled(false)
	p.reset(byte(p.number), hcaPKeys)
	p.notify.forget()
	p.node, p.guid = node, guid
	be.PutUint32(p.info[atCapabilities:], capabilities)
	p.info[50] = 128 / 8
	p.limit(node.Abilities)
}

// Wire is where the cable goes.
func (p *HCAPort) Wire() *wire.Port { return p.wire }

// LID is the port's; 0 before a subnet manager gives it one.
func (p *HCAPort) LID() uint16 { return p.lid() }

// State is the logical state.
func (p *HCAPort) State() byte { return p.state }

// GID is the port's first.
func (p *HCAPort) GID() (gid [16]byte) {
	copy(gid[:], p.info[atPrefix:atPrefix+8])
	be.PutUint64(gid[8:], p.guid)
	return gid
}

// PKey is an entry of the table; an index outside gives the default partition.
func (p *HCAPort) PKey(index int) uint16 {
	if index < 0 || index >= len(p.pkeys) {
		index = 0
	}
	return p.pkeys[index]
}

// AnyPKey stands for the whole table, which the packets of queue pair 1 are compared with.
const AnyPKey = -1

// Admits reports whether a packet may come in by its P_Key: it has to be that of an index of
// the table. One that may not is counted, and the subnet manager told.
func (p *HCAPort) Admits(k *wire.Packet, index int) bool {
	if index == AnyPKey && p.admits(k.PKey) || index != AnyPKey && sharePartition(p.PKey(index), k.PKey) {
		return true
	}
	countUp(p.info[atPKeyViolations:])
	p.notify.trap(typeSecurity, trapPKey, partitionDetails(k, uint32(k.PKey)))
	return false
}

// WrongQKey counts a packet whose Q_Key was wrong, and tells the subnet manager.
func (p *HCAPort) WrongQKey(k *wire.Packet) {
	countUp(p.info[atQKeyViolations:])
	p.notify.trap(typeSecurity, trapQKey, partitionDetails(k, k.QKey))
}

// PKeys are the whole table.
func (p *HCAPort) PKeys() []uint16 { return append([]uint16(nil), p.pkeys...) }

// Info is PortInfo as a Get gives it: 64 bytes.
func (p *HCAPort) Info() []byte { return p.portInfo() }

// SetDescription is how the host wants the node to be called.
func (p *HCAPort) SetDescription(text string) { p.node.Description = text }

// Description is how the node is called.
func (p *HCAPort) Description() string { return p.node.Description }

// SetCapabilities is what the driver says the host can do. A subnet manager is told of a
// change.
func (p *HCAPort) SetCapabilities(mask uint32) {
	was := be.Uint32(p.info[atCapabilities:])
	be.PutUint32(p.info[atCapabilities:], mask)
	if mask != was && p.state == Active {
		p.notify.trap(typeInfo, trapCapabilities, capabilityDetails(p.lid(), mask))
	}
}

// ResetQKeyCounter sets the violations of Q_Keys to zero.
func (p *HCAPort) ResetQKeyCounter() { be.PutUint16(p.info[atQKeyViolations:], 0) }

// Enable switches the port on, unless management has it off, or switches it off.
func (p *HCAPort) Enable(on bool) { p.wire.SetEnabled(on && !p.off) }

// owns reports whether a LID is one of the port's: LMC says how many of the last bits do not
// count.
func (p *HCAPort) owns(lid uint16) bool {
	bits := p.info[atLMC] & 7
	return p.lid() != 0 && lid>>bits == p.lid()>>bits
}

// Send sends a packet. One for the port itself comes back at once.
func (p *HCAPort) Send(k *wire.Packet) bool {
	if p.owns(k.DLID) {
		return p.Loop(k)
	}
	return p.count(k, !p.tooLong(k) && p.wire.Send(k))
}

// Loop gives a packet to the port itself.
func (p *HCAPort) Loop(k *wire.Packet) bool { return p.count(k, !p.tooLong(k) && p.wire.Loop(k)) }

// count counts a packet that was sent, or discarded.
func (p *HCAPort) count(k *wire.Packet, sent bool) bool {
	if !sent {
		p.counters.XmitDiscards++
		return false
	}
	p.sent(k)
	return true
}

// Receive implements wire.Receiver. A packet for another LID is lost: a switch whose table is
// wrong, or a cable between two hosts, brings such ones (7.7.8). Until a subnet manager has
// armed the port, only subnet management comes in (7.2.5).
func (p *HCAPort) Receive(k *wire.Packet) {
	foreign := k.DLID < wire.FirstMulticast && !p.owns(k.DLID)
	if foreign || k.DestQP != 0 && p.state < Armed {
		return
	}
	p.received(k)
	p.events.Deliver(p.number, k)
}

// LinkChanged implements wire.Receiver.
func (p *HCAPort) LinkChanged() {
	if p.follow() && p.state == Down {
		p.events.StateChanged(p.number, false)
	}
}

// Damaged implements wire.Receiver.
func (p *HCAPort) Damaged(symbols int, lost bool) {
	if p.damaged(symbols, lost) {
		p.notify.trap(typeUrgent, trapIntegrity, lidDetails(p.lid(), p.number))
	}
}

// MAD gives the answer of the firmware to a datagram of 256 bytes from a LID, 0 for the host
// itself. There is none if the M_Key is wrong, which trusted says not to look at.
func (p *HCAPort) MAD(in []byte, from uint16, trusted bool) (out []byte, ok bool) {
	m := mad(in)
	if m.class() == classPerformance {
		return performance(m, []*port{&p.port}, func(n int) *port {
			if n < 1 || n > len(p.all) {
				return nil
			}
			return &p.all[n-1].port
		}), true
	}
	r := m.reply()
	if m.class() == classDirected {
		be.PutUint16(r[4:], be.Uint16(m[4:])&directionBit)
	}
	if !m.isSubnet() {
		r.setStatus(statusMethod)
		return r, true
	}
	if p.check.violated(m, trusted) {
		p.notify.trap(typeSecurity, trapKey, keyDetails(m, cmp.Or(from, p.lid())))
		return nil, false
	}
	if m.method() == methodStop {
		p.notify.repress(m)
		return r, true
	}
	p.manage(m, r)
	if m.attribute() == attrPortInfo {
		p.check.conceal(m, trusted, r.data())
	}
	return r, true
}

func (p *HCAPort) manage(m, out mad) {
	d := out.data()
	switch m.attribute() {
	case attrDescription:
		if m.method() == methodSet {
			p.node.Description = string(m.data())
		}
		clear(d)
		copy(d, p.node.Description)
	case attrNodeInfo:
		clear(d)
		copy(d, []byte{1, 1, 1, byte(p.node.Ports)})
		be.PutUint64(d[4:], p.node.System)
		be.PutUint64(d[12:], p.node.GUID)
		be.PutUint64(d[20:], p.guid)
		be.PutUint16(d[28:], uint16(len(p.pkeys)))
		be.PutUint16(d[30:], p.node.Device)
		be.PutUint32(d[32:], p.node.Revision)
		be.PutUint32(d[36:], uint32(p.number)<<24|mellanox)
	case attrGUIDInfo:
		clear(d)
		if m.modifier() == 0 {
			be.PutUint64(d, p.guid)
		}
	case attrPortInfo, attrExtendedInfo:
		switch q := p.asked(m); {
		case q == nil:
			out.setStatus(statusValue)
		case m.attribute() == attrPortInfo:
			q.managePortInfo(m, out)
		default:
			q.extendedPortInfo(m, out)
		}
	default:
		if !p.table(m, out, int(m.modifier()&0xffff), 0, byte(m.modifier()>>16)) {
			out.setStatus(statusAttribute)
		}
	}
}

// mellanox is the vendor in NodeInfo.
const mellanox = 0x2c9

// asked is the port that a datagram is about: the one at which it came, if it names none; nil
// if the card has no such port.
func (p *HCAPort) asked(m mad) *HCAPort {
	switch n := int(m.modifier() & 0xff); {
	case n == 0:
		return p
	case n <= len(p.all):
		return p.all[n-1]
	}
	return nil
}

func (p *HCAPort) managePortInfo(m, out mad) {
	if m.method() == methodSet {
		was := p.state
		p.setPortInfo(m.data())
		if p.state == Active && was != Active {
			p.events.StateChanged(p.number, true)
		}
	}
	copy(out.data(), p.portInfo())
	if m.method() == methodSet {
		out.data()[atTimeout] |= m.data()[atTimeout] & reregister
	}
}
