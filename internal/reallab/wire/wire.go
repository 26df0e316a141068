// Package wire is what lies between InfiniBand ports: packets, cables, and the world in
// which they move. It must not know what a packet is for.
//
// Packets are not bytes on a wire: their headers are fields. There are no flow control,
// no virtual lanes and no time between two ports. What the electrical link does is not here.
package wire

import (
	"sync"
	"time"
)

// Opcodes of the base transport header, the first three bits without (InfiniBand
// Architecture 9.2.1): of the reliable connection, and with UD those of datagrams.
const (
	SendFirst, SendMiddle, SendLast, SendLastImm, SendOnly, SendOnlyImm = 0x00, 0x01, 0x02, 0x03, 0x04, 0x05
	WriteFirst, WriteMiddle, WriteLast, WriteLastImm                    = 0x06, 0x07, 0x08, 0x09
	WriteOnly, WriteOnlyImm                                             = 0x0a, 0x0b
	ReadRequest                                                         = 0x0c
	ReadFirst, ReadMiddle, ReadLast, ReadOnly                           = 0x0d, 0x0e, 0x0f, 0x10
	Acknowledge                                                         = 0x11
	UDSend, UDSendImm                                                   = 0x64, 0x65
)

// The LIDs of packets that nobody forwards by table.
const (
	Permissive     = 0xffff
	FirstMulticast = 0xc000
)

// Packet is one packet. Whoever receives it must not change it: it may go to several ports.
type Packet struct {
	SLID, DLID uint16
	SL         uint8
	GRH        []byte // 40 bytes, or nil
	Opcode     uint8
	Solicited  bool
	PKey       uint16
	DestQP     uint32
	PSN        uint32
	AckRequest bool
	QKey       uint32 // datagrams only
	SrcQP      uint32 // datagrams only
	// Address, RKey and Length are those of an RDMA request.
	Address uint64
	RKey    uint32
	Length  uint32
	// Syndrome and MessageSequence are those of an acknowledgement. Without a count of
	// credits in the syndrome the other says nothing.
	Syndrome        uint8
	MessageSequence uint32
	Immediate       *uint32
	Payload         []byte
	Hops            int // switches that it has passed
}

// MaxHops bounds the life of a packet whose switches send it in a circle, as a switch's
// life time does.
const MaxHops = 64

// Receiver is who has a port.
type Receiver interface {
	// Receive takes a packet. It is called in the world.
	Receive(*Packet)
	// LinkChanged tells that the link has come up, has gone down, or is another one.
	LinkChanged()
	// Damaged tells of symbols that came in broken, and whether a packet was lost by them.
	// It is called in the world.
	Damaged(symbols int, lost bool)
}

// World is all that is connected. Everything in it happens one after the other.
type World struct {
	mu     sync.Mutex
	queue  []delivery
	goesOn bool // somebody waits for a turn to deliver what is left
}

type delivery struct {
	from, to *Port
	packet   *Packet
}

// Bounds of what one guest can do to the others: packets of a port that wait, beyond which it
// discards, and packets that are delivered before somebody else has a turn. A connection
// under load always has packets that wait, and the processor of a guest stands still while a
// register of its card waits for a turn. The first is the longest message in packets of 1 KiB:
// a port that discards the end of each would never get one through.
const (
	mostQueued = 1 << 14
	mostAtOnce = 1 << 9
)

// Do runs f while nothing else in the world moves, and then delivers the packets that it
// has caused, and those that these cause; many of them after it has returned. It must not
// be called in the world.
func (w *World) Do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	for range mostAtOnce {
		if len(w.queue) == 0 {
			w.queue = nil
			return
		}
		d := w.queue[0]
		w.queue[0] = delivery{}
		w.queue = w.queue[1:]
		d.from.waiting--
		d.to.owner.Receive(d.packet)
	}
	if !w.goesOn {
		w.goesOn = true
		go w.Do(func() { w.goesOn = false })
	}
}

// enqueue lets a packet wait for its delivery; false if too many of the port wait.
func (p *Port) enqueue(to *Port, packet *Packet) bool {
	if p.waiting >= mostQueued {
		return false
	}
	p.waiting++
	p.world.queue = append(p.world.queue, delivery{p, to, packet})
	return true
}

// After runs f in the world when some time has passed.
func (w *World) After(d time.Duration, f func()) { time.AfterFunc(d, func() { w.Do(f) }) }

// Speeds are the lanes' speeds as PortInfo numbers them: the three old ones, and the
// extended ones (1 FDR, 2 EDR). FDR10, of Mellanox alone, is in neither.
type Speeds struct {
	Basic, Extended uint8
	FDR10           bool
}

// Port is one end of a cable.
type Port struct {
	world   *World
	owner   Receiver
	enabled bool
	cable   *Cable
	end     int
	waiting int // packets that it has sent and that are not delivered yet
}

// NewPort makes a port that is off.
func NewPort(w *World, owner Receiver) *Port { return &Port{world: w, owner: owner} }

// SetEnabled switches the port on or off. It is called in the world.
func (p *Port) SetEnabled(on bool) {
	if p.enabled == on {
		return
	}
	p.enabled = on
	p.changed()
}

// Enabled reports whether the port is on.
func (p *Port) Enabled() bool { return p.enabled }

// Up reports whether there is a link.
func (p *Port) Up() bool {
	return p.enabled && p.cable != nil && !p.cable.out && p.cable.ends[1-p.end].enabled
}

// Plugged reports whether the end of a cable is in the port.
func (p *Port) Plugged() bool { return p.cable != nil && !p.cable.out }

// Cable is what is plugged into the port, or nil.
func (p *Port) Cable() *Cable { return p.cable }

// Send sends a packet over the cable; without a link, or behind too many others of the port,
// it is lost, and false comes back.
func (p *Port) Send(packet *Packet) bool {
	if !p.Up() {
		return false
	}
	c := p.cable
	if c.loseEvery > 0 {
		if c.sent++; c.sent%c.loseEvery == 0 {
			c.lost++
			c.ends[1-p.end].owner.Damaged(1, true)
			return true
		}
	}
	return p.enqueue(c.ends[1-p.end], packet)
}

// Loop sends a packet to the port itself. It is lost behind too many others of the port.
func (p *Port) Loop(packet *Packet) bool { return p.enqueue(p, packet) }

// changed tells both ends.
func (p *Port) changed() {
	if p.cable != nil {
		p.cable.ends[1-p.end].owner.LinkChanged()
	}
	p.owner.LinkChanged()
}

// Cable connects two ports.
type Cable struct {
	ends      [2]*Port
	out       bool
	width     uint8
	speeds    Speeds
	loseEvery int
	sent      int
	lost      int
}

// Quality is what a good cable carries: 4X, and up to EDR.
var Quality = Speeds{Basic: 7, Extended: 3, FDR10: true}

// Connect plugs a cable into two ports.
func Connect(a, b *Port) *Cable {
	c := &Cable{ends: [2]*Port{a, b}, width: 3, speeds: Quality}
	a.world.Do(func() {
		a.cable, a.end, b.cable, b.end = c, 0, c, 1
		a.changed()
	})
	return c
}

// Pull takes the cable out, and Plug puts it in again.
func (c *Cable) Pull() { c.set(func() { c.out = true }) }

// Plug puts the cable in again.
func (c *Cable) Plug() { c.set(func() { c.out = false }) }

// Degrade limits what the cable carries, by bits: width 1 is 1X, 3 is 1X and 4X. The link
// trains anew.
func (c *Cable) Degrade(width uint8, speeds Speeds) {
	c.set(func() { c.out = true })
	c.set(func() { c.out, c.width, c.speeds = false, width, speeds })
}

// LoseEvery makes the cable lose each n-th packet; 0 makes it whole.
func (c *Cable) LoseEvery(n int) { c.ends[0].world.Do(func() { c.loseEvery, c.sent = n, 0 }) }

// Disturb breaks symbols in both directions, none of them in a packet.
func (c *Cable) Disturb(symbols int) {
	c.ends[0].world.Do(func() {
		for _, p := range c.ends {
			if p.Up() {
				p.owner.Damaged(symbols, false)
			}
		}
	})
}

// Lost is how many packets the cable has lost.
func (c *Cable) Lost() (n int) {
	c.ends[0].world.Do(func() { n = c.lost })
	return n
}

// Trainer is who has a port and says what it can do: widths by bits, and speeds.
type Trainer interface {
	Offer() (width uint8, speeds Speeds)
}

// Agreed is what the cable and both its ends can do.
func (p *Port) Agreed() (width uint8, speeds Speeds) {
	width, speeds = p.cable.width, p.cable.speeds
	for _, end := range p.cable.ends {
		if t, ok := end.owner.(Trainer); ok {
			w, s := t.Offer()
			width &= w
			speeds = Speeds{Basic: speeds.Basic & s.Basic, Extended: speeds.Extended & s.Extended, FDR10: speeds.FDR10 && s.FDR10}
		}
	}
	return width, speeds
}

// Other is the port at the other end.
func (c *Cable) Other(p *Port) *Port { return c.ends[1-p.end] }

func (c *Cable) set(change func()) {
	c.ends[0].world.Do(func() {
		change()
		c.ends[0].changed()
	})
}
