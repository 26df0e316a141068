//go:build linux

package iba7322

// Of each send buffer the driver sees two bits: it is busy, and a generation that changes
// whenever the buffer has been sent. The driver keeps a copy in which it marks a buffer as
// busy by itself; the generation tells it that the chip's word is the newer one
// (update_send_bufs of qib_tx.c).
const (
	availWords = (2*buffers + 63) / 64
	perWord    = 32
)

// buffer is a packet that the driver is writing. The first eight bytes are control.
type buffer struct {
	packet  []byte
	port    int
	missing int // bytes; the packet goes when there are none
}

// controlSize is that of the control word before a packet.
const controlSize = 8

// Bits of the control word: how many words of four bytes follow its first half, and the
// port (qib_7322_setpbc_control of qib_iba7322.c).
const (
	controlWords = 0x7ff
	controlPort  = 58
)

// size is how many bytes of packet follow a control word.
func size(control uint64) int { return max(0, int(control&controlWords)-1) * 4 }

// fill takes what the driver writes into send buffers.
func (c *Card) fill(addr uint32, p []byte) {
	n, at := (addr-smallBuffers)/smallStride, addr%smallStride
	if addr >= largeBuffers {
		n, at = smallCount+(addr-largeBuffers)/largeStride, (addr-largeBuffers)%largeStride
	}
	b := &c.buffers[n]
	if at == 0 && len(p) == controlSize {
		control := le.Uint64(p)
		*b = buffer{packet: make([]byte, size(control)), port: int(control >> controlPort & 1), missing: size(control)}
		return
	}
	if b.missing == 0 || at < controlSize || int(at)-controlSize > len(b.packet) {
		return
	}
	b.missing -= copy(b.packet[at-controlSize:], p)
	if b.missing <= 0 {
		c.launch(int(n))
	}
}

// launch sends a buffer, and gives it back.
func (c *Card) launch(n int) {
	b := c.buffers[n]
	if b.port < len(c.ports) {
		c.ports[b.port].send(b.packet)
	}
	c.release(n)
}

func (c *Card) release(n int) {
	c.buffers[n] = buffer{}
	c.avail[n/perWord] ^= 1 << (n % perWord * 2)
	c.storeAvail(n / perWord)
}

// storeAvail writes a word about buffers to the driver's memory, if it wants that.
func (c *Card) storeAvail(word int) {
	if c.regs[regSendControl]&sendUpdate == 0 {
		return
	}
	var b [8]byte
	le.PutUint64(b[:], c.avail[word])
	_ = c.bus.Write(c.regs[regAvailAddress]+uint64(word)*8, b[:]) // without memory the driver sees nothing
}

// Bits of SendControl.
const (
	sendInterrupt = 1 << 1 // when there is a buffer
	sendUpdate    = 1 << 2
	sendDisarm    = 1 << 31 // the buffer whose number is in bits 16 and up
)

func (c *Card) sendControl(was, v uint64) {
	if n := int(v >> 16 & 0xff); v&sendDisarm != 0 && n < buffers && c.buffers[n].missing > 0 {
		c.release(n)
	}
	if v&^was&sendUpdate != 0 {
		for word := range availWords {
			c.storeAvail(word)
		}
	}
	if v&sendInterrupt != 0 {
		c.raise(intAvailable) // buffers are sent at once, so that there always is one
	}
}
