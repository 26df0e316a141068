//go:build linux

package iba7322

import (
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Registers of a port, in its page (qib_7322_regs.h).
const (
	portCounterBase    = 0x028
	portErrorMask      = 0x080
	portErrors         = 0x088
	portErrorClear     = 0x090
	portReceiveControl = 0x100
	portSendControl    = 0x1c0
	portDMABase        = 0x1f8
	portDMALength      = 0x200
	portDMATail        = 0x208
	portDMAHead        = 0x210
	portDMAHeadAddress = 0x218
	portDMAStatus      = 0x238
	portLinkStatus     = 0x540 // IBCStatusA
	portLinkControl    = 0x560 // IBCCtrlA
	portLinkOptions    = 0x568 // IBCCtrlB
)

// Errors of a port that the chip tells of.
const (
	errStatusChanged = 1 << 58
	errDMAHalted     = 1 << 49
	errDMABase       = 1 << 42
)

// Counters of a port, by their place in its page.
const (
	countSent, countSentWords         = 0x020, 0x030
	countDropped                      = 0x058
	countReceived, countReceivedWords = 0x068, 0x078
	countBroken                       = 0x090 // by the checksum
	countOverflow                     = 0x0c8
	countDowned, countSymbols         = 0x180, 0x188
)

// Logical states of a link in LinkStatus.
const (
	down, initialize, armed, active = 0, 1, 2, 3
)

// port is a port of the chip.
type port struct {
	c     *Card
	index int
	wire  *wire.Port
	cable []byte // the memory in what is plugged in

	regs   map[uint32]uint64 // that keep what is written
	counts map[uint32]uint64
	errors uint64

	on    bool // it looks for a link, or has one
	tries int
	state uint64
	width uint8 // as PortInfo numbers them
	speed uint8
	dma   engine
}

func (p *port) reset() {
	p.on = false
	p.tries++
	p.wire.SetEnabled(false)
	p.regs, p.counts = map[uint32]uint64{}, map[uint32]uint64{}
	p.state, p.errors, p.dma = down, 0, engine{}
}

func (p *port) read(reg uint32) uint64 {
	switch reg {
	case portCounterBase:
		return uint64(counters + p.index*portStride) // the driver adds what lies between
	case portErrors:
		return p.errors
	case portLinkStatus:
		return p.linkStatus()
	case portDMAHead:
		return p.dma.head
	case portDMAStatus:
		return p.dmaStatus()
	}
	return p.regs[reg]
}

func (p *port) write(reg uint32, v uint64) {
	was := p.regs[reg]
	p.regs[reg] = v
	switch reg {
	case portErrorMask:
		p.report()
	case portErrorClear:
		p.errors &^= v
	case portReceiveControl:
		p.c.enableContexts(v &^ was)
	case portLinkControl:
		p.linkControl(was, v)
	case portSendControl:
		p.dmaControl(was, v)
	case portDMATail:
		p.runDMA()
	}
}

// fail tells of errors.
func (p *port) fail(bits uint64) {
	p.errors |= bits
	p.report()
}

// report interrupts for errors that are not masked.
func (p *port) report() {
	if p.errors&p.regs[portErrorMask] != 0 {
		p.c.raise(1 << (intError + p.index))
	}
}

// Commands to a link, in LinkControl.
const (
	linkEnabled                = 1 << 61
	initDisable                = 1 // others have the port look for a link
	linkDown, linkArm, linkAct = 1, 2, 3
)

// linkControl does what the driver wants of the link (qib_set_ib_7322_lstate).
func (p *port) linkControl(was, v uint64) {
	switch start, command := v>>16&7, v>>19&3; {
	case v&linkEnabled == 0 || start == initDisable:
		p.disable()
	case start != 0 || command == linkDown || was&linkEnabled == 0:
		p.poll()
	case command == linkArm && (p.state == initialize || p.state == active):
		p.enter(armed)
	case command == linkAct && p.state == armed:
		p.enter(active)
	}
}

func (p *port) disable() {
	p.on = false
	p.tries++
	p.wire.SetEnabled(false)
	p.enter(p.state)
}

// trainingTime is how long a port looks for a link before it can have one. The driver
// enables its port a moment before it switches it off.
const trainingTime = 20 * time.Millisecond

// poll takes a link down, and looks for one.
func (p *port) poll() {
	p.disable()
	p.on = true
	try := p.tries
	p.c.timers.After(trainingTime, func() {
		if p.on && p.tries == try {
			p.wire.SetEnabled(true)
		}
	})
}

func (p *port) enter(state uint64) {
	p.state = state
	p.fail(errStatusChanged)
}

// LinkChanged implements wire.Receiver.
func (p *port) LinkChanged() {
	switch up := p.wire.Up(); {
	case up && p.state == down:
		width, speeds := p.wire.Agreed()
		p.width, p.speed = width, speeds.Basic
		p.enter(initialize)
	case !up && p.state != down:
		p.counts[countDowned]++
		p.enter(down)
	}
	p.c.pinsChanged()
}

// Offer implements wire.Trainer: what LinkOptions enables.
func (p *port) Offer() (width uint8, speeds wire.Speeds) {
	v := p.regs[portLinkOptions]
	width = [4]uint8{1, 2, 3, 3}[v>>5&3]
	return width, wire.Speeds{Basic: uint8(v >> 2 & 7)}
}

// linkStatus is IBCStatusA. The training states are disabled, up, and looking.
func (p *port) linkStatus() uint64 {
	const isDisabled, isUp, isPolling = 0, 1, 3
	const doubled, quadrupled, wide, ready = 1 << 8, 1 << 29, 1 << 9, 1 << 30
	switch {
	case !p.on:
		return isDisabled
	case p.state == down:
		return isPolling
	}
	v := isUp | p.state<<5 | ready | 0xff<<32 // credits on all lanes
	if p.width&2 != 0 {
		v |= wide
	}
	switch {
	case p.speed&4 != 0:
		v |= quadrupled
	case p.speed&2 != 0:
		v |= doubled
	}
	return v
}

// Damaged implements wire.Receiver.
func (p *port) Damaged(symbols int, lost bool) {
	p.counts[countSymbols] += uint64(symbols)
	if lost {
		p.counts[countBroken]++
	}
}

// carries reports whether a link in its state takes a packet: before a subnet manager has
// armed it, management of the subnet alone.
func (p *port) carries(k *wire.Packet) bool {
	return p.state >= armed || p.state == initialize && k.DestQP == 0
}

// send sends a packet of the driver, from its local route header on.
func (p *port) send(b []byte) {
	k, err := decode(b)
	switch {
	case err != nil:
		p.c.logf("port %d: %v: % x", p.index+1, err, b[:min(len(b), 32)])
		fallthrough
	case !p.carries(k) || !p.wire.Send(k):
		p.counts[countDropped]++
		return
	}
	p.counts[countSent]++
	p.counts[countSentWords] += uint64(len(b)+checksum) / 4
}

// checksum is the size of the invariant one, which ends each packet.
const checksum = 4
