//go:build linux

package connectx3

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
)

// reservedKey is the key with which a physical address is meant.
const reservedKey = 0x100

// mpt is a memory key.
type mpt struct {
	flags         uint32
	start, length uint64
	mtt           uint64
	shift         uint32
}

// Rights and kinds of a memory key.
const (
	keyPhysical    = 1 << 9
	keyRemoteRead  = 1 << 12
	keyRemoteWrite = 1 << 13
)

// remoteRights are the bits of a key that let a partner in.
var remoteRights = map[transport.Access]uint32{transport.RemoteRead: keyRemoteRead, transport.RemoteWrite: keyRemoteWrite}

// box reads a mailbox; nil if there is no memory.
func (h *hca) box(addr uint64, size int) []byte { return hcr.Box(&h.c.bus, addr, size) }

// fill writes a mailbox.
func (h *hca) fill(addr uint64, b []byte) int { return hcr.Fill(&h.c.bus, addr, b) }

func (h *hca) mapICM(q hcr.Command) int   { return h.pages.Map(&h.c.bus, q) }
func (h *hca) unmapICM(q hcr.Command) int { return h.pages.Unmap(q) }

// mttBase is where the translation tables begin.
func (h *hca) mttBase() uint64 {
	if h.init == nil {
		return 0
	}
	return be.Uint64(h.init[0x100:])
}

func (h *hca) writeMTT(q hcr.Command) int {
	return hcr.WriteMTT(&h.c.bus, q, func(addr uint64, entry []byte) bool {
		bus, there := h.pages.At(addr)
		return there && h.c.bus.Write(bus, entry) == nil
	})
}

// translate gives the bus address of an offset in what an MTT describes.
func (h *hca) translate(mtt uint64, shift uint8, off uint64) (uint64, bool) {
	addr, there := h.pages.At(h.mttBase() + mtt + off>>shift*8)
	var entry [8]byte
	if !there || h.c.bus.Read(addr, entry[:]) != nil {
		return 0, false
	}
	return be.Uint64(entry[:])&^7 + off&(1<<shift-1), true
}

// buffer is a queue in memory.
type buffer struct {
	mtt   uint64
	shift uint8
}

// bufferOf reads the description of a queue: the size of its pages, and its MTT.
func bufferOf(page, high byte, low []byte) buffer {
	return buffer{mtt: uint64(high)<<32 | uint64(be.Uint32(low)), shift: page&0x3f + 12}
}

// read and write reach a piece of a queue that does not cross a page.
func (h *hca) readBuffer(b buffer, off uint64, p []byte) bool {
	addr, there := h.translate(b.mtt, b.shift, off)
	return there && h.c.bus.Read(addr, p) == nil
}

func (h *hca) writeBuffer(b buffer, off uint64, p []byte) {
	if addr, there := h.translate(b.mtt, b.shift, off); there {
		_ = h.c.bus.Write(addr, p) // a driver that gave no memory sees nothing, as on hardware
	}
}

func (h *hca) setMPT(q hcr.Command) int {
	b := h.box(q.In, 64)
	if b == nil || len(h.mpts) >= 1<<19 {
		return hcr.BadParam
	}
	h.mpts[q.Index] = &mpt{flags: be.Uint32(b), start: be.Uint64(b[16:]), length: be.Uint64(b[24:]), mtt: be.Uint64(b[44:]),
		shift: be.Uint32(b[56:])}
	return hcr.OK
}

func (h *hca) dropMPT(q hcr.Command) int {
	delete(h.mpts, q.Index)
	return hcr.OK
}

// keyed is the memory key with a number; a physical one stands for the reserved key.
func (h *hca) keyed(key uint32) *mpt {
	if h.init == nil {
		return nil
	}
	if m := h.mpts[(key>>8|key<<24)&(1<<(h.init[0xfb]&0x1f)-1)]; m != nil {
		return m
	}
	if key == reservedKey {
		return &mpt{flags: keyPhysical}
	}
	return nil
}

// Copy implements transport.Chip. A partner needs the right that a key names.
func (h *hca) Copy(key uint32, addr uint64, p []byte, a transport.Access) bool {
	m := h.keyed(key)
	if m == nil {
		h.Logf("memory key %#x is not known", key)
		return false
	}
	if right := remoteRights[a]; right != 0 && m.flags&right == 0 {
		return false
	}
	for len(p) > 0 {
		n := min(uint64(len(p)), 4096-addr&0xfff)
		at, there := h.locate(m, addr, n)
		if !there || h.transfer(at, p[:n], a.Writes()) != nil {
			return false
		}
		p, addr = p[n:], addr+n
	}
	return true
}

// locate is the bus address of what a key and an address name, within a page.
func (h *hca) locate(m *mpt, addr, size uint64) (at uint64, there bool) {
	switch {
	case m.flags&keyPhysical != 0:
		return addr, true
	case m.shift < 12 || m.shift > 40 || addr < m.start || addr-m.start > m.length || m.length-(addr-m.start) < size:
		return 0, false
	}
	return h.translate(m.mtt, uint8(m.shift), addr-m.start+m.start&(1<<m.shift-1))
}

func (h *hca) transfer(at uint64, p []byte, write bool) error {
	if write {
		return h.c.bus.Write(at, p)
	}
	return h.c.bus.Read(at, p)
}
