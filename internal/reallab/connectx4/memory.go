//go:build linux

package connectx4

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"

// reservedKey is the key with which a physical address is meant.
const reservedKey = 0x1ff

// Offsets in the context of a memory key.
const (
	keyStatus, keyRights, keyVariant = 0x00, 0x02, 0x07
	keyEndless, keyStart, keyLength  = 0x0c, 0x10, 0x18
	keyPage                          = 0x3b
	keyContext                       = 0x40
	keyTranslations                  = 0x60 // in the command: 16 bytes each
)

// Bits of a context: status, rights, and how addresses become those of the bus.
const (
	keyFree        = 0x40
	keyRemoteWrite = 0x20
	keyRemoteRead  = 0x10
	keyLocalWrite  = 0x08
	keyLocalRead   = 0x04
	keyMode        = 0x03
	modePhysical   = 0
	modeTable      = 1
)

// Bounds of all translations of a card, and of those of one key, in bytes.
const (
	maxTranslations    = 256 << 20
	maxKeyTranslations = 16 << 20
)

// mkey is a memory key: its context, and the addresses of its pages.
type mkey struct {
	context [keyContext]byte
	table   []byte
}

func (m *mkey) mode() byte { return m.context[keyRights] & keyMode }

func (h *hca) createMkey(r *request) byte {
	m := &mkey{}
	copy(m.context[:], r.in[contextAt:])
	list := r.tail(listAt)
	list = list[:min(uint64(len(list)), uint64(be.Uint32(r.in[keyTranslations:]))*16)]
	if !h.grow(m, uint64(len(list))) {
		return limitReached
	}
	copy(m.table, list)
	return h.mkeys.make(r, func(uint32) *mkey { return m })
}

func (h *hca) destroyMkey(r *request) byte {
	if m := h.mkeys.at(r.object()); m != nil {
		h.translations -= uint64(len(m.table))
	}
	return h.mkeys.drop(r)
}

// grow makes the table of a key at least so long.
func (h *hca) grow(m *mkey, size uint64) bool {
	more := size - min(size, uint64(len(m.table)))
	if size > maxKeyTranslations || h.translations+more > maxTranslations {
		return false
	}
	m.table = append(m.table, make([]byte, more)...)
	h.translations += more
	return true
}

// keyed is the memory key that a work request names; nil if it is not valid.
func (h *hca) keyed(key uint32) *mkey {
	if key == reservedKey {
		return &mkey{context: [keyContext]byte{keyRights: keyLocalRead | keyLocalWrite, keyEndless: 0x80}}
	}
	m := h.mkeys.at(key >> 8)
	if m == nil || m.context[keyVariant] != byte(key) || m.context[keyStatus]&keyFree != 0 {
		return nil
	}
	return m
}

// covers reports whether a range is within a key.
func (m *mkey) covers(addr, size uint64) bool {
	start, length := be.Uint64(m.context[keyStart:]), be.Uint64(m.context[keyLength:])
	return m.context[keyEndless]&0x80 != 0 || addr >= start && addr-start <= length && length-(addr-start) >= size
}

// translate gives the bus address of an address of a key.
func (m *mkey) translate(addr uint64) (uint64, bool) {
	if m.mode() == modePhysical {
		return addr, true
	}
	shift := m.context[keyPage] & 0x1f
	if m.mode() != modeTable || shift < 12 {
		return 0, false
	}
	start := be.Uint64(m.context[keyStart:])
	off := addr - start + start&(1<<shift-1)
	at := off >> shift
	if at >= uint64(len(m.table))/8 {
		return 0, false
	}
	return be.Uint64(m.table[at*8:])&^7 + off&(1<<shift-1), true
}

// rights are the bits of a key for each access.
var rights = map[transport.Access]byte{transport.LocalRead: keyLocalRead, transport.LocalWrite: keyLocalWrite,
	transport.RemoteRead: keyRemoteRead, transport.RemoteWrite: keyRemoteWrite}

// Copy implements transport.Chip.
func (h *hca) Copy(key uint32, addr uint64, p []byte, a transport.Access) bool {
	m := h.keyed(key)
	if m == nil || m.context[keyRights]&rights[a] == 0 || !m.covers(addr, uint64(len(p))) {
		h.Logf("memory key %#x is not valid for %d bytes at %#x", key, len(p), addr)
		return false
	}
	for len(p) > 0 {
		n := min(uint64(len(p)), pageSize-addr%pageSize)
		at, there := m.translate(addr)
		if !there || h.transfer(at, p[:n], a.Writes()) != nil {
			h.Logf("memory key %#x has no memory at %#x", key, addr)
			return false
		}
		p, addr = p[n:], addr+n
	}
	return true
}

func (h *hca) transfer(at uint64, p []byte, write bool) error {
	if write {
		return h.c.bus.Write(at, p)
	}
	return h.c.bus.Read(at, p)
}

// Bits of the mask with which a work request changes a key, and what they change in the
// context (enum mlx5_mkey masks of device.h).
var keyChanges = []struct {
	bit      uint
	from, to int
	mask     byte
}{
	{0, keyLength, keyLength + 8, 0xff}, {0, keyEndless, keyEndless + 1, 0x80}, {1, keyPage, keyPage + 1, 0x1f},
	{6, keyStart, keyStart + 8, 0xff}, {7, 0x0d, 0x10, 0xff}, {13, keyVariant, keyVariant + 1, 0xff},
	{14, 0x04, 0x07, 0xff}, {17, keyRights, keyRights + 1, keyLocalRead}, {18, keyRights, keyRights + 1, keyLocalWrite},
	{19, keyRights, keyRights + 1, keyRemoteRead}, {20, keyRights, keyRights + 1, keyRemoteWrite},
	{29, keyStatus, keyStatus + 1, keyFree},
}

// Layout of a work request that changes a key: control, what changes, the new context, and
// the translations, inline or by a pointer.
const (
	umrControl, umrContext, umrData = 16, 64, 128
	umrInline, umrHasOffset         = 0x80, 0x10
)

// register changes a memory key as a work request says.
func (h *hca) register(w []byte, key uint32) bool {
	m := h.mkeys.at(key >> 8)
	if m == nil || len(w) < umrData {
		return false
	}
	m.change(be.Uint64(w[umrControl+8:]), w[umrContext:umrData])
	return h.changeTable(m, w)
}

// change takes what a mask names from another context.
func (m *mkey) change(mask uint64, fresh []byte) {
	for _, f := range keyChanges {
		if mask>>f.bit&1 == 0 {
			continue
		}
		for i := f.from; i < f.to; i++ {
			m.context[i] = m.context[i]&^f.mask | fresh[i]&f.mask
		}
	}
}

// changeTable writes the translations that a work request has into the table of a key.
func (h *hca) changeTable(m *mkey, w []byte) bool {
	c := w[umrControl:umrContext]
	size, offset := uint64(be.Uint16(c[4:]))*16, uint64(0)
	if c[0]&umrHasOffset != 0 {
		offset = (uint64(be.Uint16(c[6:])) | uint64(be.Uint32(c[16:]))<<16) * 16
	}
	if size == 0 {
		return true
	}
	list := make([]byte, size)
	if c[0]&umrInline != 0 {
		if len(w) < umrData+int(size) {
			return false
		}
		copy(list, w[umrData:])
	} else if len(w) < umrData+pieceBytes || !h.Copy(be.Uint32(w[umrData+4:]), be.Uint64(w[umrData+8:]), list, transport.LocalRead) {
		return false
	}
	if offset > maxKeyTranslations || !h.grow(m, offset+size) {
		return false
	}
	copy(m.table[offset:], list)
	return true
}
