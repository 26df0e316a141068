//go:build linux

package iba7322

// Registers of the chip (qib_7322_regs.h).
const (
	regRevision       = 0x000
	regControl        = 0x008
	regPageAlign      = 0x010
	regContextCount   = 0x018
	regCounterBase    = 0x028
	regContextBase    = 0x038
	regIntMask        = 0x068
	regIntStatus      = 0x070
	regIntClear       = 0x078
	regExtStatus      = 0x0c0
	regExtControl     = 0x0c8
	regGPIOOut        = 0x0e0
	regGPIOMask       = 0x0e8
	regGPIOStatus     = 0x0f0
	regGPIOClear      = 0x0f8
	regReceiveControl = 0x100
	regEntries        = 0x118 // of a header queue
	regEntrySize      = 0x120 // in words of four bytes
	regTIDBase        = 0x128
	regTIDCount       = 0x130
	regEagerBase      = 0x138
	regEagerCount     = 0x140
	regFeatures       = 0x198 // that are active; none are after a recovery that failed
	regSendControl    = 0x1c0
	regBufferBase     = 0x1c8 // small, and in the upper half large, as in the next two
	regBufferSize     = 0x1d0
	regBufferCount    = 0x1d8
	regAvailAddress   = 0x1e0
	regHeaderAddress  = 0x280 // 8 bytes for each context
	regSerDes         = 0x468
	regRedirect       = 0x540 // to vectors, of 12 interrupts each
	regAvail          = 0x3000
)

// Tables that the registers above tell of.
const (
	portRegs   = 0x1000 // of the first port, 0x1000 bytes each
	counters   = 0x11000
	portCounts = 0x12000 // of the first port, 0x1000 bytes each
	eagerTable = 0x14000
	tidTable   = 0x50000
	portStride = 0x1000
)

// Sizes.
const (
	contexts      = 18
	contextStride = 0x10000
	smallStride   = 0x1000
	largeStride   = 0x2000
	smallSize     = 2048 + headroom
	largeSize     = 4096 + headroom
	headroom      = 128 // for headers
	smallCount    = 128
	largeCount    = 32
	buffers       = smallCount + largeCount + 2
)

// constants are the registers that say what the chip is: of the second revision, which
// needs no repair of its link recovery by JTAG (r1 of qib_iba7322.c).
func (c *Card) constants() map[uint32]uint64 {
	const softwareABI, architecture, major, minor = 2, 1, 7, 2
	board := uint64(boardQLE7340)
	if len(c.ports) > 1 {
		board = boardQLE7342
	}
	return map[uint32]uint64{
		regRevision:     board<<32 | softwareABI<<24 | architecture<<16 | major<<8 | minor,
		regPageAlign:    smallStride,
		regContextCount: contexts,
		regCounterBase:  counters,
		regContextBase:  contextRegs,
		regTIDBase:      tidTable,
		regTIDCount:     512,
		regEagerBase:    eagerTable,
		regFeatures:     1,
		regBufferBase:   largeBuffers<<32 | smallBuffers,
		regBufferSize:   largeSize<<32 | smallSize,
		regBufferCount:  largeCount<<32 | smallCount,
	}
}

// portAt is the port whose page of registers, or of counters, has an address.
func (c *Card) portAt(addr, first uint32) *port {
	if i := int(addr-first) / portStride; addr >= first && i < len(c.ports) {
		return c.ports[i]
	}
	return nil
}

func (c *Card) read(addr uint32) uint64 {
	if p := c.portAt(addr, portCounts); p != nil {
		return p.counts[addr%portStride]
	}
	if p := c.portAt(addr, portRegs); p != nil {
		return p.read(addr % portStride)
	}
	switch {
	case addr == regIntStatus:
		return c.pending
	case addr == regExtStatus:
		return c.externals()
	case addr == regGPIOStatus:
		return c.pins.status
	case addr == regEagerCount:
		return eagerCount(c.regs[regReceiveControl])
	case addr == regSerDes:
		return serDes(c.regs[regSerDes])
	case addr >= regAvail && addr < regAvail+8*availWords:
		return c.avail[(addr-regAvail)/8]
	case addr >= contextRegs && addr < contextsEnd:
		return c.readContext(addr)
	}
	return c.regs[addr]
}

func (c *Card) write(addr uint32, v uint64) {
	if p := c.portAt(addr, portCounts); p != nil {
		p.counts[addr%portStride] = v
		return
	}
	if p := c.portAt(addr, portRegs); p != nil {
		p.write(addr%portStride, v)
		return
	}
	if addr >= contextRegs && addr < contextsEnd {
		c.writeContext(addr, v)
		return
	}
	was := c.regs[addr]
	c.regs[addr] = v
	switch addr {
	case regControl:
		if v&1 != 0 {
			c.reset()
		}
	case regIntMask:
		c.interrupt(c.pending)
	case regIntClear:
		c.clear(v)
	case regExtControl, regGPIOOut, regGPIOMask:
		c.pinsChanged()
	case regGPIOClear:
		c.pins.status &^= v
	case regSendControl:
		c.sendControl(was, v)
	}
}

// serDes answers for the registers of the SerDes, which are reached through one (ahb_mod of
// qib_iba7322.c). It is always ready; register 25 says that calibration is done.
func serDes(transaction uint64) uint64 {
	const ready, calibration, done = 1 << 31, 25, 1 << 9
	if transaction>>17&0x3f == calibration {
		return done<<32 | ready
	}
	return ready
}

// Interrupts, as bits of IntStatus. Those of ports are followed by those of the second.
const (
	intReceived  = 0 // the first of a context
	intAvailable = 1 << 23
	intGPIO      = 1 << 28
	intError     = 30 // the first of a port, as the rest
	intCleanedUp = 56
	intIdle      = 58
	intDMA       = 62
)

// raise sets interrupts.
func (c *Card) raise(bits uint64) {
	fresh := bits &^ c.pending
	c.pending |= bits
	c.interrupt(fresh)
}

// interrupt raises the vectors of interrupts that are not masked.
func (c *Card) interrupt(bits uint64) {
	raised := c.vectorsOf(bits & c.regs[regIntMask])
	for v := range uint32(vectors) {
		if raised>>v&1 != 0 {
			c.bus.Interrupt(v)
		}
	}
}

// vectorsOf are the vectors, by bits, to which the driver has redirected interrupts.
func (c *Card) vectorsOf(bits uint64) (raised uint64) {
	const each = 12
	for n := range uint32(64) {
		if bits>>n&1 != 0 {
			raised |= 1 << (c.regs[regRedirect+n/each*8] >> (n % each * 5) & 0x1f)
		}
	}
	return raised
}

// clear ends interrupts. Those that stay come again, and so do errors that nobody has
// cleared at their source.
func (c *Card) clear(bits uint64) {
	c.pending &^= bits
	c.interrupt(c.pending)
	for _, p := range c.ports {
		p.report()
	}
}
