//go:build linux

package iba7322

// twsi is the other end of the two-wire bus, which the driver drives bit by bit
// (qib_twsi.c): memories of which each transfer names the device, then where to begin.
type twsi struct {
	clock, data bool
	released    bool // it does not pull the data low
	device      []byte
	at          byte
	stage       stage
	shift       byte
	bits        int  // of a byte, and the ninth for its acknowledgement
	answering   bool // the ninth is this end's
	refused     bool
}

// stage is what the next byte is.
type stage int

const (
	idle stage = iota
	naming
	placing
	storing
	reading
)

// follow sees the levels that the driver drives. While the clock is high, data that fall
// begin a transfer, and data that rise end it.
func (b *twsi) follow(clock, data bool, find func(byte) []byte) {
	was := *b
	b.clock, b.data = clock, data
	switch {
	case was.clock && clock && was.data != data:
		*b = twsi{clock: clock, data: data, released: true, at: was.at}
		if !data {
			b.stage = naming
		}
	case b.stage == idle || was.clock == clock:
	case clock:
		b.rise()
	default:
		b.fall(find)
	}
}

// rise takes a bit.
func (b *twsi) rise() {
	b.bits++
	switch {
	case b.bits <= 8:
		b.shift <<= 1
		if b.data {
			b.shift |= 1
		}
	case b.stage == reading && !b.answering && b.data:
		b.stage = idle // the driver has enough
	}
}

// fall puts the next bit on the wire: an acknowledgement of eight bits, or one that is read.
func (b *twsi) fall(find func(byte) []byte) {
	b.released = true
	switch {
	case b.stage == idle:
		return
	case b.bits == 8 && b.stage != reading:
		b.answering = true
		b.released = !b.take(find)
		return
	case b.bits == 9:
		b.bits, b.answering = 0, false
		if b.refused {
			b.stage = idle
		}
	}
	if b.stage == reading && b.bits < 8 {
		b.released = b.device[int(b.at)%len(b.device)]>>(7-b.bits)&1 != 0
		if b.bits == 7 {
			b.at++
		}
	}
}

// take takes a byte, and reports whether it is acknowledged.
func (b *twsi) take(find func(byte) []byte) bool {
	v := b.shift
	b.shift = 0
	switch b.stage {
	case naming:
		b.device = find(v &^ 1)
		b.stage = placing
		if v&1 != 0 {
			b.stage = reading
		}
		b.refused = b.device == nil
		return !b.refused
	case placing:
		b.at, b.stage = v, storing
	default:
		b.device[int(b.at)%len(b.device)] = v
		b.at++
	}
	return true
}
