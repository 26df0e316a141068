package transport

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// packet is one to the other end of a connection.
func (q *QueuePair) packet(opcode uint8, psn uint32) *wire.Packet {
	p, path := q.port(), q.Remote.Path
	k := &wire.Packet{SLID: p.LID() | uint16(path.PathBits), DLID: path.DLID, SL: path.SL, Opcode: opcode,
		PSN: psn & psnMask, PKey: p.PKey(q.PKeyIndex), DestQP: q.Remote.QueuePair}
	if path.Global != nil {
		k.GRH = path.Global.header(p.GID(), 0)
	}
	return k
}

// toOther sends a packet of a connection; false if it is lost at once. A port that is not
// active carries none.
func (q *QueuePair) toOther(k *wire.Packet) bool {
	p := q.port()
	return p.State() == fabric.Active && p.Send(k)
}

// Where in its message a packet stands, and with that the place of its opcode in a list:
// the last two are the last and the only packet with immediate data.
const (
	first = iota
	middle
	last
	only
	lastImmediate
	onlyImmediate
)

// opcodes of a message's packets, by place.
type opcodes [6]uint8

var (
	sendCodes = opcodes{wire.SendFirst, wire.SendMiddle, wire.SendLast, wire.SendOnly, wire.SendLastImm,
		wire.SendOnlyImm}
	writeCodes = opcodes{wire.WriteFirst, wire.WriteMiddle, wire.WriteLast, wire.WriteOnly, wire.WriteLastImm,
		wire.WriteOnlyImm}
	readCodes = opcodes{first: wire.ReadFirst, middle: wire.ReadMiddle, last: wire.ReadLast, only: wire.ReadOnly}
)

// place is where a packet stands in its message.
func place(begins, ends, immediate bool) int {
	switch {
	case begins && ends && immediate:
		return onlyImmediate
	case begins && ends:
		return only
	case begins:
		return first
	case ends && immediate:
		return lastImmediate
	case ends:
		return last
	}
	return middle
}

// split sends a message in packets of the path's MTU. Behind a packet that is lost at once
// the rest would be lost, too.
func (q *QueuePair) split(codes opcodes, psn uint32, data []byte, immediate *uint32, finish func(*wire.Packet, bool)) {
	for begins := true; begins || len(data) > 0; begins = false {
		n := min(len(data), q.Remote.mtu())
		ends := n == len(data)
		k := q.packet(codes[place(begins, ends, immediate != nil)], psn)
		k.Payload, psn, data = data[:n], psn+1, data[n:]
		if ends {
			k.Immediate = immediate
		}
		finish(k, ends)
		if !q.toOther(k) {
			return
		}
	}
}
