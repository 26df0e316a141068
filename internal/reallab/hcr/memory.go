package hcr

// Bus is the memory of the machine.
type Bus interface {
	Read(addr uint64, p []byte) error
	Write(addr uint64, p []byte) error
}

// Box reads a mailbox; nil if there is no memory.
func Box(b Bus, addr uint64, size int) []byte {
	p := make([]byte, size)
	if b.Read(addr, p) != nil {
		return nil
	}
	return p
}

// Fill writes a mailbox.
func Fill(b Bus, addr uint64, p []byte) int { return Known(b.Write(addr, p) == nil) }

// maxPages bounds the memory that a driver may lend for tables: 1 GiB.
const maxPages = 1 << 18

// Limits of a command that lends pages: pieces in one mailbox, and pages in a piece.
const (
	maxPieces   = 256
	maxLogPages = 18
)

// Pages are what a driver has lent: the bus address of each page of the tables. Its zero
// value has none.
type Pages struct{ bus map[uint64]uint64 }

// Map takes the pages that the mailbox of MAP_ICM lists.
func (p *Pages) Map(b Bus, c Command) int {
	if c.Index > maxPieces {
		return BadParam
	}
	list := Box(b, c.In, int(c.Index)*16)
	if list == nil {
		return BadParam
	}
	if p.bus == nil {
		p.bus = map[uint64]uint64{}
	}
	for i := range int(c.Index) {
		at, bus := be.Uint64(list[16*i:]), be.Uint64(list[16*i+8:])
		log := bus & 0x3f
		if log > maxLogPages || len(p.bus)+1<<log > maxPages {
			return BadResource
		}
		at, bus = at&^0xfff, bus&^0xfff
		for k := range uint64(1) << log {
			p.bus[at>>12+k] = bus + k<<12
		}
	}
	return OK
}

// Unmap gives pages back, as UNMAP_ICM asks.
func (p *Pages) Unmap(c Command) int {
	for k := range min(uint64(c.Index), maxPages) {
		delete(p.bus, c.In>>12+k)
	}
	return OK
}

// At gives the bus address of a byte of the tables.
func (p *Pages) At(addr uint64) (bus uint64, there bool) {
	page, there := p.bus[addr>>12]
	return page + addr&0xfff, there
}

// WriteMTT stores translations that the mailbox of WRITE_MTT has: store is called with the
// address of each entry in the tables.
func WriteMTT(b Bus, c Command, store func(addr uint64, entry []byte) bool) int {
	const head, most = 16, 510
	if c.Index > most {
		return BadParam
	}
	list := Box(b, c.In, head+8*int(c.Index))
	if list == nil {
		return BadParam
	}
	first := be.Uint64(list)
	for i := range uint64(c.Index) {
		if !store(first+8*i, list[head+8*i:head+8+8*i]) {
			return BadParam
		}
	}
	return OK
}
