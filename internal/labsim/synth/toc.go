package synth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

const (
	magicFS3  = "MTFW\x8c\xdf\xd0\x00\xde\xad\x92\x70\x41\x54\xbe\xef"
	magicFS4  = "MTFW\xab\xcd\xef\x00\xfa\xde\x12\x34\x56\x78\xde\xad"
	magicITOC = "ITOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00"
	magicDTOC = "DTOC\x04\x08\x15\x16\x23\x42\xca\xfa\xba\xca\xfe\x00"
	magicDev  = "mDevInfo\x23\x42\xca\xfa\xba\xca\xfe\x00"

	kindPCI       = 0x02
	kindMain      = 0x03
	kindImageInfo = 0x10
	kindMainCfg   = 0x12
	kindROM       = 0x18
	kindINI       = 0x30
	kindSignature = 0xa0
	kindKeys      = 0xa1
	kindMfg       = 0xe0
	kindDev       = 0xe1
	kindNVData    = 0xe6

	modeEntry   = 0
	modeNone    = 1
	modeSection = 2

	maxSection = 0xfffffc
)

// tocSection is a section and where its data goes.
type tocSection struct {
	kind   byte
	data   []byte
	addr   int
	device bool
	mode   byte // of FS4
	lines  bool // check words behind cache lines
}

type tocBuilder struct {
	builder // for filler, ROM and configuration text
	o       TOCOptions
	fs4     bool
	flash   []byte
	next    int // where the next section goes
	list    []tocSection
	err     error
}

// FS3 builds an image for Connect-IB or ConnectX-4.
func FS3(o TOCOptions) ([]byte, error) { return buildTOC(o, false) }

// FS4 builds an image for ConnectX-5 to ConnectX-7.
func FS4(o TOCOptions) ([]byte, error) { return buildTOC(o, true) }

func buildTOC(o TOCOptions, fs4 bool) ([]byte, error) {
	o, err := o.withDefaults(fs4)
	if err != nil {
		return nil, err
	}
	device := o.DeviceType
	if chip, ok := ib.ChipByHWID(first(o.HWIDs)); ok && device == 0 {
		device = chip.PCIDevice
	}
	b := &tocBuilder{
		builder: builder{o: Options{PSID: o.PSID, PRSName: o.PRSName, ROMs: o.ROMs, Seed: o.Seed, DeviceType: device}},
		o:       o, fs4: fs4, flash: bytes.Repeat([]byte{0xff}, o.Size), next: 0x3000,
	}
	table := 0x1000
	if fs4 {
		table, b.next = 0x2000, 0x4000
	}
	b.head(table)
	b.firmware()
	b.device()
	if o.SecondTable {
		table += 0x1000
	}
	if !o.NoTable {
		b.tables(table)
	}
	if b.err != nil {
		return nil, b.err
	}
	return b.flash, resealAt(b.flash, b.o.SlotBits, b.start())
}

func (b *tocBuilder) start() int {
	if b.o.Second {
		return 1 << b.o.SlotBits
	}
	return 0
}

// write puts bytes at an address in the slot, or in the file if absolute.
func (b *tocBuilder) write(addr int, data []byte, absolute bool) {
	if !absolute {
		if addr+len(data) >= 1<<b.o.SlotBits {
			b.err = fmt.Errorf("0x%x bytes at 0x%x do not fit into a slot of 2^%d bytes", len(data), addr, b.o.SlotBits)
			return
		}
		addr += b.start()
	}
	if addr < 0 || addr+len(data) > len(b.flash) {
		b.err = errors.New("the image does not fit into its size")
		return
	}
	copy(b.flash[addr:], data)
}

func (b *tocBuilder) bootBlock() []byte {
	p := append(words(0x80000033, 32, 0), b.filler(31*4)...)
	return append(p, words(0, 0)...)
}

// head writes all that comes before the sections.
func (b *tocBuilder) head(table int) {
	if !b.fs4 {
		h := make([]byte, 0x38)
		copy(h, magicFS3)
		copy(h[0x24:], []byte{3, b.o.SlotBits, 1, 1})
		b.write(0, h, false)
		b.write(0x38, b.bootBlock(), false)
		return
	}
	h := make([]byte, 0x540)
	copy(h, magicFS4)
	h[0x10] = 1
	pointers := map[int]uint32{1: 0x1000, 2: uint32(table), 3: 0x500, 13: b.o.SecurityVersion}
	if b.o.Hashes {
		pointers[15] = 0x1800
	}
	for i, v := range pointers {
		binary.BigEndian.PutUint32(h[0x18+8*i:], v)
	}
	copy(h[0x504:], []byte{0, b.o.SlotBits, 1, 0})
	b.write(0, h, false)
	b.write(0x1000, b.bootBlock(), false)
	if b.o.Hashes {
		const hash = 48
		p := make([]byte, 12+16+28*(8+hash)+8)
		copy(p[4:], words(uint32(len(p)/4-3)))
		copy(p[12:], words(1, hash<<16|0x0003))
		copy(p[28:], b.filler(28*(8+hash)))
		b.write(0x1800, p, false)
	}
}

// add puts a section behind the last one.
func (b *tocBuilder) add(kind byte, data []byte, mode byte) *tocSection {
	b.list = append(b.list, tocSection{kind: kind, data: data, addr: b.next, mode: mode})
	b.write(b.next, data, false)
	b.next = (b.next + len(data) + 0xff) &^ 0xff
	return &b.list[len(b.list)-1]
}

func (b *tocBuilder) firmware() {
	code := b.filler(0x200)
	if b.o.LineCRC || b.o.Encrypted {
		code = b.filler(68 * 8)
		for i := 64; i < len(code); i += 68 {
			copy(code[i:], words(map[bool]uint32{false: 0x1234, true: 0xa1b21234}[b.o.Encrypted]))
		}
	}
	b.add(kindMain, code, modeEntry).lines = b.o.LineCRC || b.o.Encrypted
	b.add(kindPCI, b.filler(0x100), modeEntry)
	for rest := b.o.Payload &^ 3; rest > 0; rest -= maxSection {
		b.add(kindMain, b.filler(min(rest, maxSection)), modeEntry)
	}
	b.add(kindImageInfo, b.imageInfo(), modeEntry)
	b.add(kindMainCfg, b.filler(0x100), modeEntry)
	if len(b.o.ROMs) > 0 {
		b.add(kindROM, b.rom(), modeEntry)
	}
	b.add(kindINI, b.ini(), modeEntry)
	if b.o.Signature {
		p := b.filler(320)
		if b.o.DevKey {
			clear(p[26:32])
		}
		b.add(kindSignature, p, modeNone)
		b.add(kindKeys, b.filler(0x220), modeEntry)
	}
}

func (b *tocBuilder) deviceSection(kind byte, data []byte, addr int, mode byte) {
	b.list = append(b.list, tocSection{kind: kind, data: data, addr: addr, mode: mode, device: true})
	b.write(addr, data, true)
}

// device writes what belongs to the card.
func (b *tocBuilder) device() {
	size := b.o.Size
	if !b.fs4 {
		b.deviceSection(kindNVData, bytes.Repeat([]byte{0xff}, 0x1000), size-0x6000, modeEntry)
		b.deviceSection(kindDev, b.devInfo(), size-0x3000, modeEntry)
		b.deviceSection(kindMfg, b.mfgInfo(), size-0x1000, modeEntry)
		return
	}
	b.deviceSection(kindNVData, bytes.Repeat([]byte{0xff}, 0x1000), size-0x8000, modeNone)
	b.deviceSection(kindDev, b.devInfo(), size-0x5000, modeSection)
	b.deviceSection(kindDev, bytes.Repeat([]byte{0xff}, 512), size-0x4000, modeSection)
	b.deviceSection(kindMfg, b.mfgInfo(), size-0x3000, modeEntry)
}

// tables writes the tables of contents; the CRCs in them come later.
func (b *tocBuilder) tables(at int) {
	itoc, dtoc := append([]byte(magicITOC), words(1, 0, 0, 0)...), append([]byte(magicDTOC), words(1, 0, 0, 0)...)
	for _, s := range b.list {
		e := words(uint32(s.kind)<<24|uint32(len(s.data)), 0, 0, 0, 0, uint32(s.addr), 0, 0)
		if s.lines {
			e[4] |= 0x40
		}
		switch {
		case b.fs4:
			e[25] = s.mode
		case s.device:
			e[25] = 2
		default:
			e[20] |= 0x80
			if s.mode == modeNone {
				e[25] = 1
			}
		}
		if b.fs4 && s.device {
			dtoc = append(dtoc, e...)
		} else {
			itoc = append(itoc, e...)
		}
	}
	b.write(at, itoc, false)
	if b.fs4 {
		b.write(b.o.Size-0x1000, dtoc, true)
	}
}
