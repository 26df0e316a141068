//go:build linux

package infinihost3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// endKey is the key of a piece that ends the list of a receive request.
const endKey = 0x100

// Bounds of what a driver may have at once.
const (
	maxQueues       = 1 << 14 // of each kind
	maxKeys         = 1 << 20
	maxTranslations = 1 << 22
)

// region is what a memory key names.
type region struct {
	flags         uint32
	index         uint32
	start, length uint64
	table         uint64 // of its translations
	shift         uint8  // log2 of the bytes of a page
}

// physical is the bit of a region whose addresses are those of the bus.
const physical = 1 << 9

// rights are the bits of a region that allow an access.
var rights = map[transport.Access]uint32{transport.LocalRead: 1 << 10, transport.LocalWrite: 1 << 11,
	transport.RemoteRead: 1 << 12, transport.RemoteWrite: 1 << 13}

// box reads a mailbox; nil if there is no memory.
func (h *hca) box(addr uint64, size int) []byte { return hcr.Box(&h.c.bus, addr, size) }

// fill writes a mailbox.
func (h *hca) fill(addr uint64, b []byte) int { return hcr.Fill(&h.c.bus, addr, b) }

func (h *hca) mapICM(q hcr.Command) int   { return h.pages.Map(&h.c.bus, q) }
func (h *hca) unmapICM(q hcr.Command) int { return h.pages.Unmap(q) }

// writeMTT stores translations: in the memory of the machine, where the driver writes them
// itself too, or in that of the card.
func (h *hca) writeMTT(q hcr.Command) int {
	return hcr.WriteMTT(&h.c.bus, q, func(addr uint64, entry []byte) bool {
		if h.c.ownMemory {
			if len(h.translations) >= maxTranslations {
				return false
			}
			h.translations[addr] = be.Uint64(entry)
			return true
		}
		bus, there := h.pages.At(addr)
		return there && h.c.bus.Write(bus, entry) == nil
	})
}

// translation is an entry of the tables.
func (h *hca) translation(addr uint64) (uint64, bool) {
	if h.c.ownMemory {
		v, there := h.translations[addr]
		return v, there
	}
	bus, there := h.pages.At(addr)
	var entry [8]byte
	if !there || h.c.bus.Read(bus, entry[:]) != nil {
		return 0, false
	}
	return be.Uint64(entry[:]), true
}

// setMPT takes a memory key. A driver has no key before INIT_HCA.
func (h *hca) setMPT(q hcr.Command) int {
	b := h.box(q.In, 64)
	if b == nil || h.layout == nil || len(h.regions) >= maxKeys {
		return hcr.BadParam
	}
	shift := be.Uint32(b[4:])&0x1f + 12
	h.regions[q.Index&h.layout.keyMask()] = &region{flags: be.Uint32(b), index: be.Uint32(b[8:]), start: be.Uint64(b[16:]),
		length: be.Uint64(b[24:]), table: be.Uint64(b[44:]), shift: uint8(shift)}
	return hcr.OK
}

func (h *hca) dropMPT(q hcr.Command) int {
	if h.layout != nil {
		delete(h.regions, q.Index&h.layout.keyMask())
	}
	return hcr.OK
}

// region is what a key names. A key is the index of its entry; in chips without memory it
// is rotated by eight bits.
func (h *hca) region(key uint32) *region {
	if h.layout == nil {
		return nil
	}
	index := key
	if !h.c.ownMemory {
		index = key>>8 | key<<24
	}
	if r := h.regions[index&h.layout.keyMask()]; r != nil && r.index == index {
		return r
	}
	return nil
}

// Copy implements transport.Chip.
func (h *hca) Copy(key uint32, addr uint64, p []byte, a transport.Access) bool {
	r := h.region(key)
	if r == nil || r.flags&rights[a] == 0 {
		h.Logf("memory key %#x is not known, or does not allow access %d", key, a)
		return false
	}
	for len(p) > 0 {
		n := min(uint64(len(p)), 4096-addr&0xfff)
		at, there := h.locate(r, addr, n)
		if !there {
			return false
		}
		var err error
		if a.Writes() {
			err = h.c.bus.Write(at, p[:n])
		} else {
			err = h.c.bus.Read(at, p[:n])
		}
		if err != nil {
			return false
		}
		p, addr = p[n:], addr+n
	}
	return true
}

// locate is the bus address of a piece of a region that does not cross a page.
func (h *hca) locate(r *region, addr, size uint64) (at uint64, there bool) {
	if r.flags&physical != 0 {
		return addr, true
	}
	if addr < r.start || addr-r.start > r.length || r.length-(addr-r.start) < size {
		return 0, false
	}
	off := addr - r.start + r.start&(1<<r.shift-1)
	page, there := h.translation(r.table + off>>r.shift*8)
	return page&^7 + off&(1<<r.shift-1), there
}
