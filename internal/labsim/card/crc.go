package card

import "encoding/binary"

// crcTable is for CRC-16, polynomial 0x100B, not reflected.
var crcTable = func() [256]uint16 {
	var t [256]uint16
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x100b
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()

// crc16 is the section CRC: init 0xF6AA is 0xFFFF with the trailing 16 zero bits
// of the bit-serial definition taken into account; the result is inverted.
func crc16(data []byte) uint16 {
	c := uint16(0xf6aa)
	for _, b := range data {
		c = c<<8 ^ crcTable[byte(c>>8)^b]
	}
	return ^c
}

func be32(b []byte, off uint32) uint32     { return binary.BigEndian.Uint32(b[off:]) }
func put32(b []byte, off uint32, v uint32) { binary.BigEndian.PutUint32(b[off:], v) }
func be64(b []byte, off uint32) uint64     { return binary.BigEndian.Uint64(b[off:]) }
func append32(b []byte, v ...uint32) []byte {
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
