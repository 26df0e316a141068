package synth

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// crc is the section CRC in its bit-serial definition: slow, and independent
// of the reader's tables.
func crc(parts ...[]byte) uint16 {
	reg := uint16(0xffff)
	shift := func(bit uint16) {
		carry := reg >> 15
		reg = reg<<1 | bit
		if carry != 0 {
			reg ^= 0x100b
		}
	}
	for _, p := range parts {
		for _, b := range p {
			for i := 7; i >= 0; i-- {
				shift(uint16(b>>i) & 1)
			}
		}
	}
	for range 16 {
		shift(0)
	}
	return ^reg
}

var errChain = errors.New("the boot blocks or the section chain do not fit into the image")

// Reseal recomputes every CRC of a contiguous image in place, so that a test
// can change a field and keep the image whole. The CRC of a blank GUID section
// stays as it is. It refuses PSIDs as the builders do. FS3 and FS4 images must
// be in the first slot.
func Reseal(image []byte) error {
	if bits, ok := isTOC(image); ok {
		return resealAt(image, bits, 0)
	}
	if len(image) < headerBytes {
		return errChain
	}
	off := headerBytes
	for range 2 {
		end, err := extent(image, off, 8)
		if err != nil {
			return err
		}
		if err := seal(image, off, end); err != nil {
			return err
		}
		off = end
	}
	end, err := resealChain(image, off)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(image[0x20:], 0)
	sum := crc(image[:0x22], []byte{0xff, 0xff}, image[0x24:end])
	binary.BigEndian.PutUint16(image[0x22:], sum)
	return nil
}

// extent gives the end of a boot block (header of 8 bytes, two words more than
// its size says) or section (header of 16 bytes, one word more).
func extent(image []byte, off, header int) (int, error) {
	if off+header > len(image) {
		return 0, errChain
	}
	n := int(binary.BigEndian.Uint32(image[off+4:]))
	if n > len(image)/4 {
		return 0, errChain
	}
	end := off + header + 4*n + 4
	if header == 8 {
		end += 4
	}
	if end > len(image) {
		return 0, errChain
	}
	return end, nil
}

// resealChain returns the end of the last section.
func resealChain(image []byte, off int) (int, error) {
	for {
		end, err := extent(image, off, 16)
		if err != nil {
			return 0, err
		}
		if err := seal(image, off, end); err != nil {
			return 0, err
		}
		if binary.BigEndian.Uint32(image[off:]) == typeInfo {
			if err := checkTags(image[off+16 : end-4]); err != nil {
				return 0, err
			}
		}
		next := int(binary.BigEndian.Uint32(image[off+12:]))
		if next == 0 || next == lastNext {
			return end, nil
		}
		if next < end {
			return 0, errChain
		}
		off = next
	}
}

func seal(image []byte, off, end int) error {
	last := image[end-4 : end]
	isGUID := end-off >= 28 && binary.BigEndian.Uint32(image[off:]) == typeGUID
	if isGUID && binary.BigEndian.Uint32(last) == blankGUIDsCRC &&
		string(image[off+16:off+24]) == "\xff\xff\xff\xff\xff\xff\xff\xff" {
		return nil
	}
	binary.BigEndian.PutUint32(last, uint32(crc(image[off:end-4])))
	return nil
}

// checkTags looks for the PSID in an info section.
func checkTags(data []byte) error {
	for len(data) >= 4 && data[0] != 0xff {
		n := int(binary.BigEndian.Uint32(data) & 0xffffff)
		if n > len(data)-4 {
			return nil
		}
		if data[0] == 4 {
			if err := checkPSID(strings.TrimRight(string(data[4:4+n]), "\x00")); err != nil {
				return fmt.Errorf("resealing: %w", err)
			}
		}
		data = data[4+n:]
	}
	return nil
}
