package fabric

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Sizes of a switch's tables.
const (
	linearSize    = 49152
	multicastSize = 1024
	switchPKeys   = 32
	noPort        = 0xff
)

// switchCapabilities are those of port 0, on behalf of all: among them extended speeds,
// without which opensm does not read them.
const switchCapabilities = 0x00004848

// portStateChange is the bit of SwitchInfo that a subnet manager looks at.
const portStateChange = 4

// Switch is an unmanaged switch: it forwards by tables that a subnet manager fills.
type Switch struct {
	name      string
	guid      uint64
	ports     []*switchPort // 0 is for management
	linear    [linearSize]byte
	multicast [multicastSize][4]uint16 // four positions of 16 ports
	info      [64]byte
	traps     uint64
}

// switchPort is a port of a switch.
type switchPort struct {
	port
	of     *Switch
	number int
}

// NewSwitch makes a switch with n ports, at most 62.
func NewSwitch(w *wire.World, name string, guid uint64, n int) *Switch {
	s := &Switch{name: name, guid: guid}
	for i := range n + 1 {
		p := &switchPort{of: s, number: i}
		p.wire = wire.NewPort(w, p)
		p.reset(byte(i), switchPKeys)
		s.ports = append(s.ports, p)
	}
	s.ports[0].state = Active
	be.PutUint32(s.ports[0].info[atCapabilities:], switchCapabilities)
	for i := range s.linear {
		s.linear[i] = noPort
	}
	be.PutUint16(s.info[0:], linearSize-1)
	be.PutUint16(s.info[4:], multicastSize)
	be.PutUint16(s.info[14:], switchPKeys)
	s.info[16] = 0x20 // P_Keys can be enforced, both ways
	w.Do(func() {
		for _, p := range s.ports[1:] {
			p.wire.SetEnabled(true)
		}
	})
	return s
}

// Ports is how many the switch has, without that for management.
func (s *Switch) Ports() int { return len(s.ports) - 1 }

// Port is where a cable goes; the first is 1.
func (s *Switch) Port(n int) *wire.Port { return s.ports[n].wire }

func (s *Switch) lid() uint16 { return s.ports[0].lid() }

func (p *switchPort) offer() (byte, wire.Speeds) { return p.offered() }

// LinkChanged implements wire.Receiver.
func (p *switchPort) LinkChanged() {
	if p.follow() {
		p.of.info[11] |= portStateChange
		p.of.trap()
	}
}

// trap tells the subnet manager that the state of a port has changed (128). Nothing
// repeats it: a subnet manager sweeps, too.
func (s *Switch) trap() {
	master := s.ports[0].masterLID()
	if master == 0 || s.lid() == 0 {
		return
	}
	s.traps++
	m := make(mad, MADSize)
	m[0], m[1], m[2], m[3] = 1, classLID, 1, methodTrap
	be.PutUint64(m[8:], s.traps)
	be.PutUint16(m[16:], attrNotice)
	d := m.data()
	be.PutUint32(d, 0x81000002) // generic, urgent, of a switch
	be.PutUint16(d[4:], 128)
	be.PutUint16(d[6:], s.lid())
	be.PutUint16(d[10:], s.lid())
	s.route(&wire.Packet{SLID: s.lid(), DLID: master, Opcode: wire.UDSend, Payload: m})
}

// Receive implements wire.Receiver.
func (p *switchPort) Receive(k *wire.Packet) {
	s := p.of
	p.received(k)
	switch {
	case isDirected(k):
		s.directed(p.number, k)
	case k.DLID == wire.Permissive || k.DLID == 0:
		p.counters.ReceiveErrors++
	case k.DestQP != 0 && !p.passes(k, 3):
		p.counters.ReceiveErrors++
	case k.DLID >= wire.FirstMulticast:
		s.spread(p.number, k)
	case k.DLID == s.lid():
		s.own(p.number, k)
	default:
		s.route(k)
	}
}

// isDirected reports whether a packet is a datagram that names its way itself.
func isDirected(k *wire.Packet) bool {
	return k.DestQP == 0 && k.Opcode == wire.UDSend && k.DLID == wire.Permissive && len(k.Payload) == MADSize &&
		mad(k.Payload).class() == classDirected
}

// passes reports whether the P_Keys that are enforced in a direction let a packet
// through: bit 3 is inbound, bit 2 outbound.
func (p *switchPort) passes(k *wire.Packet, bit uint) bool {
	return p.info[atOperational]>>bit&1 == 0 || p.admits(k.PKey)
}

// own answers a datagram for the switch itself.
func (s *Switch) own(in int, k *wire.Packet) {
	m := mad(k.Payload)
	if len(m) != MADSize || k.DestQP > 1 || m.method()&0x80 != 0 || m.method() > methodSet {
		return
	}
	out := s.agent(in, m)
	if out == nil {
		return
	}
	s.route(&wire.Packet{SLID: k.DLID, DLID: k.SLID, SL: k.SL, Opcode: wire.UDSend, PKey: k.PKey, SrcQP: k.DestQP,
		DestQP: k.SrcQP, QKey: k.QKey, Payload: out})
}

func (s *Switch) route(k *wire.Packet) {
	if int(k.DLID) < linearSize {
		s.out(int(s.linear[k.DLID]), k)
	}
}

// spread sends a multicast packet to all ports of its group but the one it came from.
func (s *Switch) spread(from int, k *wire.Packet) {
	at := int(k.DLID - wire.FirstMulticast)
	if at >= multicastSize {
		return
	}
	for n := 1; n < len(s.ports); n++ {
		if n != from && s.multicast[at][n/16]>>(n%16)&1 != 0 {
			s.out(n, k)
		}
	}
}

// out sends a packet to a port. Before a port is armed it carries management only.
func (s *Switch) out(n int, k *wire.Packet) {
	if n < 1 || n >= len(s.ports) || k.Hops >= wire.MaxHops {
		return
	}
	p := s.ports[n]
	if k.DestQP != 0 && (p.state < Armed || !p.passes(k, 2)) {
		p.counters.XmitDiscards++
		return
	}
	next := *k
	next.Hops++
	if !p.wire.Send(&next) {
		p.counters.XmitDiscards++
		return
	}
	p.sent(k)
}

// directed forwards a directed-route datagram, or answers it (14.2.2).
func (s *Switch) directed(in int, k *wire.Packet) {
	m := append(mad(nil), k.Payload...)
	next := *k
	next.Payload = m
	hop, count := int(m[6]), int(m[7])
	if count > 63 || hop > count+1 {
		return
	}
	if be.Uint16(m[4:])&directionBit == 0 {
		switch {
		case hop > 0 && hop < count:
			m.returnPath()[hop] = byte(in)
			m[6]++
			s.out(int(m.initialPath()[hop+1]), &next)
		case hop == count:
			m.returnPath()[hop] = byte(in)
			m[6]++
			s.answerDirected(in, m, &next)
		}
		return
	}
	if hop >= 2 && hop <= count {
		m[6]--
		s.out(int(m.returnPath()[hop-1]), &next)
	}
}

func (s *Switch) answerDirected(in int, m mad, next *wire.Packet) {
	r := s.agent(in, m)
	if r == nil {
		return
	}
	r.setStatus(be.Uint16(r[4:]) | directionBit)
	r[6]--
	next.Payload, next.SrcQP, next.DestQP = r, 0, 0
	s.out(int(r.returnPath()[r[6]]), next)
}

// agent answers a datagram that came in at a port; nil if it says nothing.
func (s *Switch) agent(in int, m mad) mad {
	if m.class() == classPerformance {
		return performance(m, func(n int) *port {
			if n < 0 || n >= len(s.ports) {
				return nil
			}
			return &s.ports[n].port
		})
	}
	out := m.reply()
	if !m.isSubnet() {
		out.setStatus(statusMethod)
		return out
	}
	if key := be.Uint64(s.ports[0].info[atKey:]); key != 0 && key != m.key() && m.method() == methodSet {
		return nil
	}
	s.manage(in, m, out)
	return out
}

func (s *Switch) manage(in int, m, out mad) {
	d, set := out.data(), m.method() == methodSet
	switch m.attribute() {
	case attrDescription:
		clear(d)
		copy(d, s.name)
	case attrNodeInfo:
		clear(d)
		copy(d, []byte{1, 1, 2, byte(len(s.ports) - 1)})
		for _, at := range []int{4, 12, 20} {
			be.PutUint64(d[at:], s.guid)
		}
		be.PutUint16(d[28:], switchPKeys)
		be.PutUint16(d[30:], 0xc738) // SwitchX
		be.PutUint32(d[36:], uint32(in)<<24|mellanox)
	case attrSwitchInfo:
		if set {
			s.setSwitchInfo(m.data())
		}
		copy(d, s.info[:])
	case attrGUIDInfo:
		clear(d)
		be.PutUint64(d, s.guid)
	case attrPortInfo:
		s.managePortInfo(in, m, out)
	case attrExtendedInfo:
		clear(d) // neither has nor can FDR10
	case attrLinear:
		s.manageLinear(m, out)
	case attrMulticast:
		s.manageMulticast(m, out)
	default:
		s.manageTable(m, out)
	}
}

// setSwitchInfo takes the default ports, the life time, and the bit of state changes,
// which a one clears.
func (s *Switch) setSwitchInfo(d []byte) {
	copy(s.info[6:11], d[6:11])
	changed := s.info[11] & portStateChange &^ d[11]
	s.info[11] = d[11]&0xf8 | changed
}

func (s *Switch) managePortInfo(in int, m, out mad) {
	n := int(m.modifier() & 0xff)
	if n >= len(s.ports) {
		out.setStatus(statusValue)
		return
	}
	p := s.ports[n]
	if m.method() == methodSet {
		p.setPortInfo(m.data())
		if n == 0 {
			p.state = Active
		}
	}
	d := out.data()
	copy(d, p.portInfo())
	// A subnet manager knows by it where its request came in, and does not look behind
	// that port.
	d[atLocalPort] = byte(in)
	if n == 0 {
		d[atPhysical] = linkUp<<4 | polling
	}
	if m.method() == methodSet {
		d[atTimeout] |= m.data()[atTimeout] & reregister
	}
}

func (s *Switch) manageLinear(m, out mad) {
	at := int(m.modifier()) * 64
	if m.modifier() >= linearSize/64 {
		out.setStatus(statusValue)
		return
	}
	block := s.linear[at : at+64]
	if m.method() == methodSet {
		copy(block, m.data())
	}
	copy(out.data(), block)
}

func (s *Switch) manageMulticast(m, out mad) {
	at, position := int(m.modifier()&0x1ff)*32, m.modifier()>>28
	if int(position) >= len(s.multicast[0]) || at+32 > multicastSize {
		out.setStatus(statusValue)
		return
	}
	for i := range 32 {
		if m.method() == methodSet {
			s.multicast[at+i][position] = be.Uint16(m.data()[2*i:])
		}
		be.PutUint16(out.data()[2*i:], s.multicast[at+i][position])
	}
}

// manageTable reaches the tables of one port. The modifier names it in another place for
// each of them.
func (s *Switch) manageTable(m, out mad) {
	mod := m.modifier()
	n, block, input := int(mod&0xff), 0, 0
	switch m.attribute() {
	case attrPKeyTable:
		n, block = int(mod>>16&0xff), int(mod&0xffff)
	case attrSLToVL:
		input = int(mod >> 8 & 0xff)
	}
	if n >= len(s.ports) || !s.ports[n].table(m, out, block, input, byte(mod>>16)) {
		out.setStatus(statusAttribute)
	}
}
