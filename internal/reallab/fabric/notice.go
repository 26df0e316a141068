package fabric

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Traps (13.4.8.2): the number, and the type in the first byte of their notice, in which
// bit 7 says that the InfiniBand Architecture defines them.
const (
	trapStateChanged = 128
	trapIntegrity    = 129
	trapCapabilities = 144
	trapKey          = 256 // M_Key
	trapPKey         = 257
	trapQKey         = 258
	trapSwitchPKey   = 259

	typeUrgent   = 0x81
	typeSecurity = 0x82
	typeInfo     = 0x84
)

// Producers of notices.
const (
	producerCA     = 1
	producerSwitch = 2
)

// mostRepeats bounds how often a trap is sent that no subnet manager represses, so that a
// fabric without one comes to rest.
const mostRepeats = 60

// notifier sends the notices of a node, and sends each again until the subnet manager
// represses it. There is one of each number at a time.
type notifier struct {
	world    *wire.World
	producer uint32
	port     *port // that has the LID
	send     func(*wire.Packet)
	serial   uint64
	open     map[uint16]uint64 // transaction by number
}

func newNotifier(w *wire.World, producer uint32, p *port, send func(*wire.Packet)) *notifier {
	return &notifier{world: w, producer: producer, port: p, send: send, open: map[uint16]uint64{}}
}

// trap tells the subnet manager something; details are those of the number, from byte 10
// of the notice on.
func (n *notifier) trap(kind byte, number uint16, details []byte) {
	if _, waits := n.open[number]; waits {
		return
	}
	n.serial++
	n.open[number] = n.serial
	m := make(mad, MADSize)
	m[0], m[1], m[2], m[3] = 1, classLID, 1, methodTrap
	be.PutUint64(m[8:], n.serial)
	be.PutUint16(m[16:], attrNotice)
	d := m.data()
	be.PutUint32(d, n.producer)
	d[0] = kind
	be.PutUint16(d[4:], number)
	copy(d[10:], details)
	n.repeat(number, m, mostRepeats)
}

// repeat sends a trap now and, while nobody represses it, once in a subnet's time-out.
func (n *notifier) repeat(number uint16, m mad, times int) {
	master := n.port.masterLID()
	if times == 0 || master == 0 || n.port.lid() == 0 {
		delete(n.open, number)
		return
	}
	be.PutUint16(m.data()[6:], n.port.lid())
	n.send(&wire.Packet{SLID: n.port.lid(), DLID: master, SL: n.port.info[atMTU] & 0xf, Opcode: wire.UDSend, Payload: m})
	serial := n.open[number]
	n.world.After(n.pause(), func() {
		if n.open[number] == serial {
			n.repeat(number, append(mad(nil), m...), times-1)
		}
	})
}

// pause is the subnet's time-out, 4.096 µs times a power of two that management sets. One
// that is shorter than a program in an emulated machine needs would flood it.
func (n *notifier) pause() time.Duration {
	return max(500*time.Millisecond, 4096*time.Nanosecond<<(n.port.info[atTimeout]&0x1f))
}

// repress ends the repeats of a trap.
func (n *notifier) repress(m mad) {
	number := be.Uint16(m.data()[4:])
	if n.open[number] == be.Uint64(m[8:]) {
		delete(n.open, number)
	}
}

// forget ends all repeats.
func (n *notifier) forget() { clear(n.open) }

// partitionDetails are those of a P_Key or Q_Key that did not fit (13.4.8.2, traps 257 and
// 258).
func partitionDetails(k *wire.Packet, key uint32) []byte {
	d := make([]byte, 54)
	be.PutUint16(d[2:], k.SLID)
	be.PutUint16(d[4:], k.DLID)
	be.PutUint32(d[6:], key)
	be.PutUint32(d[10:], uint32(k.SL)<<28|k.SrcQP&0xffffff)
	be.PutUint32(d[14:], k.DestQP&0xffffff)
	if len(k.GRH) == 40 {
		copy(d[18:], k.GRH[8:40])
	}
	return d
}

// relayDetails are those of a P_Key that a switch did not let pass (trap 259): which of
// the fields are valid comes first.
func relayDetails(k *wire.Packet, lid uint16, number int) []byte {
	const all = 0x1ff
	d := make([]byte, 54)
	be.PutUint16(d, all)
	be.PutUint16(d[2:], k.SLID)
	be.PutUint16(d[4:], k.DLID)
	be.PutUint16(d[6:], k.PKey)
	be.PutUint32(d[8:], uint32(k.SL)<<28|k.SrcQP&0xffffff)
	be.PutUint32(d[12:], k.DestQP&0xffffff)
	if len(k.GRH) == 40 {
		copy(d[16:], k.GRH[8:40])
	}
	be.PutUint16(d[48:], lid)
	d[50] = byte(number)
	return d
}

// keyDetails are those of a request with a wrong M_Key (trap 256).
func keyDetails(m mad, from uint16) []byte {
	d := make([]byte, 54)
	be.PutUint16(d[2:], from)
	be.PutUint16(d[4:], wire.Permissive)
	d[6] = m.method()
	be.PutUint16(d[8:], m.attribute())
	be.PutUint32(d[10:], m.modifier())
	be.PutUint64(d[14:], m.key())
	if m.class() == classDirected {
		be.PutUint16(d[4:], be.Uint16(m[32:]))
		const hops, directed = 0x3f, 0x80
		d[23] = directed | min(m[7], 30)&hops
		copy(d[24:], m.returnPath()[1:min(int(m[7]), 30)+1])
	}
	return d
}

// lidDetails are those of the traps that name a LID and, if it is not 0, a port.
func lidDetails(lid uint16, number int) []byte {
	d := make([]byte, 54)
	if number == 0 {
		be.PutUint16(d, lid)
		return d
	}
	be.PutUint16(d[2:], lid)
	d[4] = byte(number)
	return d
}

// capabilityDetails are those of trap 144.
func capabilityDetails(lid uint16, mask uint32) []byte {
	d := make([]byte, 54)
	be.PutUint16(d[2:], lid)
	be.PutUint32(d[6:], mask)
	return d
}
