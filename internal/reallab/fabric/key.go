package fabric

import "time"

// Levels of protection by the M_Key (14.2.4.1): with the first the key is read as 0, and
// from the second on nothing can be read without it.
const (
	protectKey  = 1
	protectRead = 2
)

// keyCheck compares the M_Key of a request with that of a port, and counts. The lease
// ends the protection if nobody with the key comes in time.
type keyCheck struct {
	port  *port
	after func(time.Duration, func())
	lease int // counts leases, so that only the last one ends
	runs  bool
}

func (p *port) key() uint64      { return be.Uint64(p.info[atKey:]) }
func (p *port) protection() byte { return p.info[atLMC] >> 6 }

// violated reports whether a request must not be served, and counts it.
func (c *keyCheck) violated(m mad, trusted bool) bool {
	key := c.port.key()
	if trusted || key == 0 || key == m.key() {
		if key == m.key() {
			c.runs, c.lease = false, c.lease+1
		}
		return false
	}
	if m.method() == methodGet && c.port.protection() < protectRead {
		return false
	}
	countUp(c.port.info[atKeyViolations:])
	c.begin()
	return true
}

// begin lets the lease run; one of 0 has no end.
func (c *keyCheck) begin() {
	period := be.Uint16(c.port.info[atLease:])
	if period == 0 || c.runs {
		return
	}
	c.runs = true
	c.lease++
	mine := c.lease
	c.after(time.Duration(period)*time.Second, func() {
		if c.runs && c.lease == mine {
			c.runs = false
			c.port.info[atLMC] &= 0x3f
		}
	})
}

// conceal takes the M_Key out of a PortInfo for whom it is not. Who has just set it may see
// it: opensm takes it from there.
func (c *keyCheck) conceal(m mad, trusted bool, info []byte) {
	if m.method() == methodGet && !trusted && c.port.protection() >= protectKey && m.key() != c.port.key() {
		clear(info[atKey : atKey+8])
	}
}

// countUp counts a violation, up to the largest value that there is room for.
func countUp(b []byte) {
	if v := be.Uint16(b); v < 0xffff {
		be.PutUint16(b, v+1)
	}
}
