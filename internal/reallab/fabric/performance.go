package fabric

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// Attributes of performance management.
const (
	attrClassPortInfo = 0x01
	attrCounters      = 0x12
	attrExtended      = 0x1d
)

// Capabilities of the performance agent: all ports at once, 64 bits, PortXmitWait.
const performanceCapabilities = 1<<8 | 1<<9 | 1<<12

// allPorts stands for all ports of a node.
const allPorts = 0xff

// Counters are what the performance agent counts of a port. Data is in bytes.
type Counters struct {
	XmitBytes, ReceiveBytes         uint64
	XmitPackets, ReceivePackets     uint64
	XmitUnicast, ReceiveUnicast     uint64
	XmitMulticast, ReceiveMulticast uint64

	SymbolErrors, LinkRecoveries, LinkDowned          uint64
	ReceiveErrors, RemoteErrors, RelayErrors          uint64
	XmitDiscards, XmitConstraint, ReceiveConstraint   uint64
	LocalIntegrity, BufferOverruns, VL15Dropped, Wait uint64
}

// field is where a counter is in an answer, in bits, and which bit selects it.
type field struct {
	at, bits, selected uint
	of                 func(*Counters) *uint64
	words              bool // of four bytes
}

// The fields that both attributes have.
var (
	xmitBytes      = func(c *Counters) *uint64 { return &c.XmitBytes }
	receiveBytes   = func(c *Counters) *uint64 { return &c.ReceiveBytes }
	xmitPackets    = func(c *Counters) *uint64 { return &c.XmitPackets }
	receivePackets = func(c *Counters) *uint64 { return &c.ReceivePackets }
)

// shortFields are those of PortCounters (16.1.3.5). They stop at their largest value.
// PortXmitWait is selected by the first bit of CounterSelect2.
var shortFields = []field{
	{32, 16, 0, func(c *Counters) *uint64 { return &c.SymbolErrors }, false},
	{48, 8, 1, func(c *Counters) *uint64 { return &c.LinkRecoveries }, false},
	{56, 8, 2, func(c *Counters) *uint64 { return &c.LinkDowned }, false},
	{64, 16, 3, func(c *Counters) *uint64 { return &c.ReceiveErrors }, false},
	{80, 16, 4, func(c *Counters) *uint64 { return &c.RemoteErrors }, false},
	{96, 16, 5, func(c *Counters) *uint64 { return &c.RelayErrors }, false},
	{112, 16, 6, func(c *Counters) *uint64 { return &c.XmitDiscards }, false},
	{128, 8, 7, func(c *Counters) *uint64 { return &c.XmitConstraint }, false},
	{136, 8, 8, func(c *Counters) *uint64 { return &c.ReceiveConstraint }, false},
	{152, 4, 9, func(c *Counters) *uint64 { return &c.LocalIntegrity }, false},
	{156, 4, 10, func(c *Counters) *uint64 { return &c.BufferOverruns }, false},
	{176, 16, 11, func(c *Counters) *uint64 { return &c.VL15Dropped }, false},
	{192, 32, 12, xmitBytes, true}, {224, 32, 13, receiveBytes, true},
	{256, 32, 14, xmitPackets, false}, {288, 32, 15, receivePackets, false},
	{320, 32, 16, func(c *Counters) *uint64 { return &c.Wait }, false},
}

// longFields are those of PortCountersExtended (16.1.4.11).
var longFields = []field{
	{64, 64, 0, xmitBytes, true}, {128, 64, 1, receiveBytes, true},
	{192, 64, 2, xmitPackets, false}, {256, 64, 3, receivePackets, false},
	{320, 64, 4, func(c *Counters) *uint64 { return &c.XmitUnicast }, false},
	{384, 64, 5, func(c *Counters) *uint64 { return &c.ReceiveUnicast }, false},
	{448, 64, 6, func(c *Counters) *uint64 { return &c.XmitMulticast }, false},
	{512, 64, 7, func(c *Counters) *uint64 { return &c.ReceiveMulticast }, false},
}

// performance answers for a port of a node; lookup gives nil if there is none. ports are
// those that allPorts means.
func performance(m mad, ports []*port, lookup func(number int) *port) mad {
	out := m.reply()
	d, in := out[64:], m[64:]
	fields := map[uint16][]field{attrCounters: shortFields, attrExtended: longFields}[m.attribute()]
	switch {
	case m.method() != methodGet && m.method() != methodSet:
		out.setStatus(statusMethod)
		return out
	case m.attribute() == attrClassPortInfo:
		clear(d)
		d[0], d[1] = 1, 1
		be.PutUint16(d[2:], performanceCapabilities)
		d[7] = 18
		return out
	case fields == nil:
		out.setStatus(statusAttribute)
		return out
	}
	if in[1] != allPorts {
		p := lookup(int(in[1]))
		if p == nil {
			out.setStatus(statusValue)
			return out
		}
		ports = []*port{p}
	}
	if m.method() == methodSet {
		mask := uint32(be.Uint16(in[2:]))
		if m.attribute() == attrCounters {
			mask |= uint32(in[18]) << 16
		}
		reset(ports, fields, mask)
		return out
	}
	report(d, ports, fields)
	return out
}

// reset sets what a mask selects to zero.
func reset(ports []*port, fields []field, mask uint32) {
	for _, p := range ports {
		for _, f := range fields {
			if mask>>f.selected&1 != 0 {
				*f.of(&p.counters) = 0
			}
		}
	}
}

// report writes the sums of counters of ports.
func report(d []byte, ports []*port, fields []field) {
	clear(d[4:])
	for _, f := range fields {
		var sum uint64
		for _, p := range ports {
			sum += *f.of(&p.counters)
		}
		if f.words {
			sum /= 4
		}
		f.put(d, sum)
	}
}

// put writes a value, or the largest that there is room for.
func (f field) put(d []byte, v uint64) {
	v = min(v, ^uint64(0)>>(64-f.bits))
	d = d[f.at/8:]
	switch f.bits {
	case 4:
		d[0] |= byte(v) << (4 - f.at%8)
	case 8:
		d[0] = byte(v)
	case 16:
		be.PutUint16(d, uint16(v))
	case 32:
		be.PutUint32(d, uint32(v))
	default:
		be.PutUint64(d, v)
	}
}

// sent and received count a packet.
func (p *port) sent(k *wire.Packet) {
	p.counters.XmitPackets++
	p.counters.XmitBytes += size(k)
	if isMulticast(k.DLID) {
		p.counters.XmitMulticast++
	} else {
		p.counters.XmitUnicast++
	}
}

func (p *port) received(k *wire.Packet) {
	p.counters.ReceivePackets++
	p.counters.ReceiveBytes += size(k)
	if isMulticast(k.DLID) {
		p.counters.ReceiveMulticast++
	} else {
		p.counters.ReceiveUnicast++
	}
	if p.unsound > 0 {
		p.unsound--
	}
}

func isMulticast(lid uint16) bool { return lid >= wire.FirstMulticast && lid != wire.Permissive }

// size is the length of a packet as the counters have it: with the local route header,
// the base transport header, and the checksums.
func size(k *wire.Packet) uint64 { return uint64(len(k.Payload)+len(k.GRH)+8+12+6+3) &^ 3 }

// damaged counts broken symbols. It reports whether there were more bad packets than good
// ones by the threshold that management has set (LocalPhyErrors).
func (p *port) damaged(symbols int, lost bool) bool {
	p.counters.SymbolErrors += uint64(symbols)
	if !lost {
		return false
	}
	p.counters.ReceiveErrors++
	if p.unsound++; p.unsound <= int(p.info[atErrors]>>4) {
		return false
	}
	p.unsound = 0
	p.counters.LocalIntegrity++
	return true
}
