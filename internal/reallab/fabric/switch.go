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

// switchCapabilities are those of port 0, on behalf of all: traps, SL mapping, system
// image GUID, traps of P_Keys at other ports, extended speeds, without which opensm does
// not read them, and the top of the multicast table.
const switchCapabilities = 0x40005848

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
	check     keyCheck
	notify    *notifier
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
	s.check = keyCheck{port: &s.ports[0].port, after: w.After}
	s.notify = newNotifier(w, producerSwitch, &s.ports[0].port, func(k *wire.Packet) { s.route(0, k) })
	s.ports[0].state = Active
	be.PutUint32(s.ports[0].info[atCapabilities:], switchCapabilities)
	for i := range s.linear {
		s.linear[i] = noPort
	}
	be.PutUint16(s.info[0:], linearSize-1)
	be.PutUint16(s.info[4:], multicastSize)
	be.PutUint16(s.info[14:], switchPKeys)
	s.info[16] = 0xc0 // P_Keys can be enforced, both ways
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

// LinkChanged implements wire.Receiver.
func (p *switchPort) LinkChanged() {
	if p.follow() {
		s := p.of
		s.info[11] |= portStateChange
		s.notify.trap(typeUrgent, trapStateChanged, lidDetails(s.lid(), 0))
	}
}

// Damaged implements wire.Receiver.
func (p *switchPort) Damaged(symbols int, lost bool) {
	if p.damaged(symbols, lost) {
		p.of.notify.trap(typeUrgent, trapIntegrity, lidDetails(p.of.lid(), p.number))
	}
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
	case k.DestQP != 0 && !p.passes(k, inbound):
		p.counters.ReceiveConstraint++
	case k.DLID >= wire.FirstMulticast:
		s.spread(p.number, k)
	case k.DLID == s.lid():
		s.own(p.number, k)
	default:
		s.route(p.number, k)
	}
}

// own takes a datagram for the switch itself.
func (s *Switch) own(in int, k *wire.Packet) {
	m := mad(k.Payload)
	if len(m) != MADSize || k.DestQP > 1 || k.Opcode != wire.UDSend {
		return
	}
	switch {
	case m.class() == classDirected && m[7] > 0:
		s.directed(in, k)
		return
	case m.class() == classLID && m.method() == methodStop:
		if !s.violated(m, k.SLID) {
			s.notify.repress(m)
		}
		return
	case m.method() != methodGet && m.method() != methodSet:
		return
	}
	if out := s.agent(in, k.SLID, m); out != nil {
		s.route(0, &wire.Packet{SLID: k.DLID, DLID: k.SLID, SL: k.SL, Opcode: wire.UDSend,
			PKey: s.ports[0].ownKey(k.PKey), SrcQP: k.DestQP, DestQP: k.SrcQP, QKey: k.QKey, Payload: out})
	}
}

// violated looks at the M_Key of a request.
func (s *Switch) violated(m mad, from uint16) bool {
	if !s.check.violated(m, false) {
		return false
	}
	s.notify.trap(typeSecurity, trapKey, keyDetails(m, from))
	return true
}

// agent answers a Get or a Set that came in at a port; nil if it says nothing.
func (s *Switch) agent(in int, from uint16, m mad) mad {
	if m.class() == classPerformance {
		return performance(m, s.external(), func(n int) *port {
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
	if s.violated(m, from) {
		return nil
	}
	s.manage(in, m, out)
	if m.attribute() == attrPortInfo {
		s.check.conceal(m, false, out.data())
	}
	return out
}

// external are all ports with a plug.
func (s *Switch) external() (all []*port) {
	for _, p := range s.ports[1:] {
		all = append(all, &p.port)
	}
	return all
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
		s.manageExtended(m, out)
	case attrLinear:
		s.manageLinear(m, out)
	case attrMulticast:
		s.manageMulticast(m, out)
	default:
		s.manageTable(m, out)
	}
}

// setSwitchInfo takes the tops of the tables, the default ports, the life time, and the
// bit of state changes, which a one clears.
func (s *Switch) setSwitchInfo(d []byte) {
	copy(s.info[6:11], d[6:11])
	copy(s.info[18:20], d[18:20])
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

func (s *Switch) manageExtended(m, out mad) {
	n := int(m.modifier() & 0xff)
	if n >= len(s.ports) {
		out.setStatus(statusValue)
		return
	}
	s.ports[n].extendedPortInfo(m, out)
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
