package fwimage

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// FS3 and FS4 images have a table of contents (ITOC) in place of the section
// chain of FS2. FS4 has a second one (DTOC) for the sections that belong to the
// card and not to the firmware: manufacturing and device information.
const (
	tocSectorBytes = 0x1000 // tables begin on these; so does a second copy
	tocHeaderBytes = 32
	tocEntryBytes  = 32
	tocEnd         = 0xff // type of the entry behind the last
	maxTOCEntries  = 63

	magicITOC = "ITOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00"
	magicDTOC = "DTOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00"

	// maxSlotBits bounds the logarithm of the slot size, with which mstflint
	// shifts 32-bit numbers.
	maxSlotBits = 30

	// A cache line and its checksum, or authentication tag if encrypted.
	cacheLineBytes = 64
)

// crcMode says where the CRC of a section is.
type crcMode uint8

const (
	crcInEntry   crcMode = 0
	crcNone      crcMode = 1
	crcInSection crcMode = 2 // in the low half of the last word
)

// tocEntry is one line of a table of contents.
type tocEntry struct {
	kind       uint8
	at         int64 // logical offset of the entry itself
	addr       int64 // of the section: logical, or in the file if absolute
	size       int64
	crc        uint16
	mode       crcMode
	cacheLines bool // the section has a checksum behind each cache line
	absolute   bool
	device     bool // belongs to the card
	params     [8]byte
}

func (e tocEntry) name() string { return tocSectionName(e.kind) }

// identityInfo is what DEV_INFO says of the card's addresses.
type identityInfo struct {
	guids []ib.GUID // bases of the ranges, one for each port on Connect-IB
	macs  []ib.MAC
}

// tocReader walks over one image whose logical address 0 is at start.
type tocReader struct {
	data []byte // the whole file or flash
	img  *Image
	// start and slotBits give the place of a logical address; slotBits 0 means
	// that logical and physical addresses are the same.
	start    int64
	slotBits uint

	bootBytes int64
	bootAt    int64
	tableAt   int64 // the ITOC that is used
	entries   []tocEntry
	// cached lists what mstflint has read by the time it computes the checksum, which
	// covers some of it.
	cached []cachedSpan

	seen         map[uint8]int64 // type to the address of the section that was read
	imageVersion uint8           // minor version of IMAGE_INFO
	flags        uint16          // of IMAGE_INFO
	hasKeys      bool
	hasSignature bool
	devSignature bool // signed with a key for development
	device       identityInfo
	roms         [][]byte
	secVersion   uint32
	unprotected  int // sections of the firmware without CRC
	hasDevInfo   bool
}

type cachedSpan struct {
	addr, size int64
	absolute   bool
}

func newTOCReader(data []byte, format Format, start int64) *tocReader {
	return &tocReader{
		data: data, start: start, seen: map[uint8]int64{},
		img: &Image{Format: format, Failsafe: true},
	}
}

// physical gives the place of a logical address. Slots are striped over the
// flash in chunks of their own size, so that an image in slot 0 that is longer
// than a slot continues behind slot 1.
func (r *tocReader) physical(addr int64) int64 {
	if r.slotBits == 0 {
		return addr
	}
	slot := int64(1) << r.slotBits
	p := addr%slot + 2*slot*(addr/slot)
	if r.start != 0 {
		p += slot
	}
	return p
}

// setSlot takes the logarithm of the slot size. For some time, tools wrote 4 MiB for
// images in slots of 8 MiB.
func (r *tocReader) setSlot(bits uint8, at int64) error {
	if bits > maxSlotBits {
		return badFormat(at, "slots of 2 to the power of %d bytes, at most %d are possible", bits, maxSlotBits)
	}
	if bits == 22 && r.start == 0x800000 {
		bits = 23
	}
	r.slotBits = uint(bits)
	r.img.Chunk = 1 << bits
	if r.slotBits == 0 {
		r.img.Chunk = 0
	}
	if r.start != 0 && r.start != r.img.Chunk {
		return badFormat(r.start, "the image starts here; an %s image starts at 0, or in the second slot of a flash at the "+
			"slot size (0x%x)", r.img.Format, r.img.Chunk)
	}
	return nil
}

// read gives n bytes at a logical address, or in the file if absolute. It
// copies only what crosses slots.
func (r *tocReader) read(what string, addr, n int64, absolute bool) ([]byte, error) {
	have := int64(len(r.data))
	r.cached = append(r.cached, cachedSpan{addr, n, absolute})
	if absolute || r.slotBits == 0 {
		if addr+n > have {
			return nil, truncated(what, addr, addr+n, have)
		}
		return r.data[addr : addr+n], nil
	}
	// The place of the byte behind the last one must exist too, because mstflint reads
	// that way.
	if end := r.physical(addr + n); end > have {
		return nil, truncated(what, addr, end, have)
	}
	slot := int64(1) << r.slotBits
	if addr/slot == (addr+max(n, 1)-1)/slot {
		p := r.physical(addr)
		return r.data[p : p+n], nil
	}
	out := make([]byte, 0, n)
	for n > 0 {
		part := min(n, slot-addr%slot)
		p := r.physical(addr)
		out = append(out, r.data[p:p+part]...)
		addr, n = addr+part, n-part
	}
	return out, nil
}

// boot2 verifies the boot block, which has the form of those of FS2.
func (r *tocReader) boot2(addr int64) error {
	head, err := r.read(nameBoot, addr, 8, false)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[4:])
	if n < minBootDwords || n > maxBootDwords {
		return badFormat(addr+4, "boot block of %d words, possible are %d to %d", n, minBootDwords, maxBootDwords)
	}
	r.bootAt, r.bootBytes = addr, (int64(n)+4)*4
	block, err := r.read(nameBoot, addr, r.bootBytes, false)
	if err != nil {
		return err
	}
	body := block[:len(block)-4]
	if want, got := sectionCRC(body), binary.BigEndian.Uint32(block[len(body):]); want != got {
		return wrongCRC(nameBoot, addr, want, got)
	}
	r.img.sections = append(r.img.sections, section{kind: kindBoot, offset: addr, size: r.bootBytes})
	return nil
}

// lowCRC compares the CRC over a block with the low half of the word behind.
func lowCRC(name string, at int64, block []byte) error {
	body := block[:len(block)-4]
	want, got := sectionCRC(body), binary.BigEndian.Uint32(block[len(body):])&0xffff
	if want != got {
		return wrongCRC(name, at, want, got)
	}
	return nil
}

// table reads the entries of the table whose header is at addr.
func (r *tocReader) table(addr int64, device bool) ([]tocEntry, error) {
	var entries []tocEntry
	for i := range int64(maxTOCEntries + 1) {
		at := addr + tocHeaderBytes + i*tocEntryBytes
		raw, err := r.read("entry of a table of contents", at, tocEntryBytes, device)
		if err != nil {
			return nil, err
		}
		if raw[0] == tocEnd {
			return entries, nil
		}
		if err := lowCRC("entry of a table of contents", at, raw); err != nil {
			return nil, err
		}
		if i < maxTOCEntries {
			entries = append(entries, r.entry(raw, at, device))
		}
	}
	return nil, badFormat(addr, "table of contents with more than %d entries", maxTOCEntries)
}

// entry takes an entry apart. The formats differ in the flags only.
func (r *tocReader) entry(raw []byte, at int64, device bool) tocEntry {
	word := func(i int) uint32 { return binary.BigEndian.Uint32(raw[4*i:]) }
	e := tocEntry{
		kind: raw[0], at: at,
		size:       int64(word(0) & 0xfffffc),
		addr:       int64(word(5) & 0x7ffffffc),
		crc:        uint16(word(6)),
		cacheLines: word(1)&(1<<30) != 0,
	}
	copy(e.params[:], raw[4:12])
	if r.img.Format == FS3 {
		e.absolute = word(5)&(1<<31) == 0
		e.device = word(6)&(1<<17) != 0
		if word(6)&(1<<16) != 0 {
			e.mode = crcNone
		}
		return e
	}
	e.absolute, e.device, e.mode = device, device, crcMode(word(6)>>16&7)
	return e
}
