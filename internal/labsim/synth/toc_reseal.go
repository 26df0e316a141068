package synth

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
)

var errTOC = errors.New("the tables or sections do not fit into the image")

// isTOC tells FS3 and FS4 from FS2, with the logarithm of their slot size.
func isTOC(image []byte) (slotBits uint8, ok bool) {
	switch {
	case len(image) < 0x540:
	case bytes.HasPrefix(image, []byte(magicFS4)):
		tools := int(binary.BigEndian.Uint32(image[0x18+8*3:]))
		if tools <= len(image)-64 {
			return image[tools+5], true
		}
	case bytes.HasPrefix(image, []byte(magicFS3)) && image[0x24] == 3:
		return image[0x25], true
	}
	return 0, false
}

// tocSealer recomputes the CRCs of one image, whose slot begins at start.
type tocSealer struct {
	flash []byte
	slot  []byte // the flash from start; only images shorter than a slot
	fs4   bool
}

// resealAt refuses images that end behind their slot, and foreign PSIDs.
func resealAt(flash []byte, slotBits uint8, start int) error {
	if slotBits > 30 || start >= len(flash) {
		return errTOC
	}
	end := len(flash)
	if slotBits != 0 {
		end = min(end, start+1<<slotBits)
	}
	s := &tocSealer{flash: flash, slot: flash[start:end]}
	s.fs4 = bytes.HasPrefix(s.slot, []byte(magicFS4))
	if s.fs4 {
		return s.sealFS4()
	}
	end, err := s.boot(0x38)
	if err != nil {
		return err
	}
	for at := (end + 0xfff) &^ 0xfff; at+32 <= len(s.slot); at += 0x1000 {
		if bytes.HasPrefix(s.slot[at:], []byte(magicITOC)) {
			return s.table(s.slot, at)
		}
	}
	return nil
}

func (s *tocSealer) sealFS4() error {
	ptr := func(i int) int { return int(binary.BigEndian.Uint32(s.slot[0x18+8*i:])) }
	if len(s.slot) < 0x98 || len(s.flash) < 0x1000 {
		return errTOC
	}
	for i := range 16 {
		p := s.slot[0x18+8*i:][:8]
		if binary.BigEndian.Uint32(p) != 0xffffffff {
			binary.BigEndian.PutUint32(p[4:], uint32(hardwareCRC(p[:4])))
		}
	}
	if ptr(3) > len(s.slot)-64 {
		return errTOC
	}
	sealLow(s.slot[ptr(3):][:64])
	if _, err := s.boot(ptr(1)); err != nil {
		return err
	}
	if err := s.hashes(ptr(15)); err != nil {
		return err
	}
	for _, at := range []int{ptr(2), ptr(2) + 0x1000} {
		if at+32 <= len(s.slot) && bytes.HasPrefix(s.slot[at:], []byte(magicITOC)) {
			if err := s.table(s.slot, at); err != nil {
				return err
			}
			break
		}
	}
	return s.table(s.flash, len(s.flash)-0x1000)
}

// boot seals a boot block and returns where it ends.
func (s *tocSealer) boot(at int) (int, error) {
	end, err := extent(s.slot, at, 8)
	if err != nil {
		return 0, err
	}
	return end, seal(s.slot, at, end)
}

func (s *tocSealer) hashes(at int) error {
	if at == 0 || at == 0xffffffff {
		return nil
	}
	if at+28 > len(s.slot) {
		return errTOC
	}
	sealLow(s.slot[at:][:12])
	size := 12 + 16 + 28*(8+int(binary.BigEndian.Uint16(s.slot[at+16:]))) + 8
	if at+size > len(s.slot) {
		return errTOC
	}
	sealLow(s.slot[at:][:size])
	return nil
}

// table seals a table of contents in one of the two address spaces, and the
// sections that it lists.
func (s *tocSealer) table(space []byte, at int) error {
	if at < 0 || at+64 > len(space) {
		return errTOC
	}
	sealLow(space[at:][:32])
	for n := range 64 {
		off := at + 32 + 32*n
		if off+32 > len(space) {
			return errTOC
		}
		e := space[off:][:32]
		if e[0] == 0xff {
			return nil
		}
		from := space
		if !s.fs4 && e[20]&0x80 == 0 {
			from = s.flash
		}
		if err := s.section(e, from); err != nil {
			return err
		}
		sealLow(e)
	}
	return errTOC
}

// section computes the CRC of a section and puts it where the entry says.
func (s *tocSealer) section(e, space []byte) error {
	size, addr := int(binary.BigEndian.Uint32(e)&0xfffffc), int(binary.BigEndian.Uint32(e[20:])&0x7ffffffc)
	if addr+size > len(space) {
		return errTOC
	}
	data := space[addr:][:size]
	if err := checkInfoPSID(e[0], data); err != nil {
		return err
	}
	mode := e[25] & 7
	if !s.fs4 {
		mode = e[25] & 1
	}
	switch {
	case mode == modeEntry && isEncrypted(e, data):
		// The chip checks each line; the CRC of the section means nothing.
		binary.BigEndian.PutUint16(e[26:], ^crc(data))
	case mode == modeEntry:
		binary.BigEndian.PutUint16(e[26:], crc(data))
	case mode == modeSection && size >= 4 && (e[0] != kindDev || bytes.HasPrefix(data, []byte(magicDev))):
		sealLow(data)
	}
	return nil
}

func isEncrypted(e, data []byte) bool {
	return e[4]&0x40 != 0 && len(data) >= 68 && binary.BigEndian.Uint16(data[64:]) != 0
}

// checkInfoPSID refuses foreign PSIDs in the sections that hold one.
func checkInfoPSID(kind byte, data []byte) error {
	switch {
	case kind == kindImageInfo && len(data) >= 52:
		return checkPSID(strings.TrimRight(string(data[36:52]), "\x00"))
	case kind == kindMfg && len(data) >= 16 && !allZero(data[:16]):
		return checkPSID(strings.TrimRight(string(data[:16]), "\x00"))
	}
	return nil
}

func allZero(p []byte) bool { return len(bytes.Trim(p, "\x00")) == 0 }

// sealLow writes the CRC over a block into the low half of its last word.
func sealLow(p []byte) {
	binary.BigEndian.PutUint16(p[len(p)-2:], crc(p[:len(p)-4]))
}

// hardwareCRC is the CRC of an address among the hardware pointers: bit-serial,
// least significant bit first, with sixteen zero bits behind.
func hardwareCRC(addr []byte) uint16 {
	var reg uint16
	for _, b := range append(bytes.Clone(addr), 0, 0) {
		for i := range 8 {
			bit := uint16(b>>i) & 1
			out := reg&1 ^ bit
			reg >>= 1
			if out != 0 {
				reg ^= 0xd008
			}
		}
	}
	return reg<<8 | reg>>8
}
