package fabric

// Attributes of performance management.
const (
	attrClassPortInfo = 0x01
	attrCounters      = 0x12
	attrExtended      = 0x1d
)

// performance answers for a port of a node; lookup gives nil if there is none.
func performance(m mad, lookup func(number int) *port) mad {
	out := m.reply()
	d, in := out[64:], m[64:]
	switch m.attribute() {
	case attrClassPortInfo:
		clear(d)
		d[0], d[1] = 1, 1
		be.PutUint16(d[2:], 0x0200) // counters of 64 bits
		d[7] = 18
		return out
	case attrCounters, attrExtended:
	default:
		out.setStatus(statusAttribute)
		return out
	}
	p := lookup(int(in[1]))
	if p == nil {
		out.setStatus(statusValue)
		return out
	}
	if m.method() == methodSet {
		p.counters.clear(m.attribute(), be.Uint16(in[2:]))
		return out
	}
	if m.attribute() == attrCounters {
		p.counters.put(d)
	} else {
		p.counters.putExtended(d)
	}
	return out
}

// clear sets what the select mask names to zero.
func (c *Counters) clear(attribute, mask uint16) {
	if attribute == attrExtended {
		mask = mask & 0xf << 12 // data and packets have the same order
	}
	for bit, v := range map[uint16]*uint64{1 << 2: &c.LinkDowned, 1 << 3: &c.ReceiveErrors, 1 << 6: &c.XmitDiscards,
		1 << 12: &c.XmitBytes, 1 << 13: &c.ReceiveBytes, 1 << 14: &c.XmitPackets, 1 << 15: &c.ReceivePackets} {
		if mask&bit != 0 {
			*v = 0
		}
	}
}

// put writes PortCounters. They stop at their largest value. Data counts words of four
// bytes.
func (c *Counters) put(d []byte) {
	clear(d[4:40])
	d[7] = byte(min(c.LinkDowned, 0xff))
	be.PutUint16(d[8:], uint16(min(c.ReceiveErrors, 0xffff)))
	be.PutUint16(d[14:], uint16(min(c.XmitDiscards, 0xffff)))
	for i, v := range []uint64{c.XmitBytes / 4, c.ReceiveBytes / 4, c.XmitPackets, c.ReceivePackets} {
		be.PutUint32(d[24+4*i:], uint32(min(v, 0xffffffff)))
	}
}

// putExtended writes PortCountersExtended; unicast and multicast are not told apart.
func (c *Counters) putExtended(d []byte) {
	clear(d[8:72])
	for i, v := range []uint64{c.XmitBytes / 4, c.ReceiveBytes / 4, c.XmitPackets, c.ReceivePackets, c.XmitPackets,
		c.ReceivePackets} {
		be.PutUint64(d[8+8*i:], v)
	}
}
