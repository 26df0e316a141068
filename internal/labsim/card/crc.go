package card

import "encoding/binary"

// crcTables are for CRC-16, polynomial 0x100B, not reflected: entry k is the
// effect of a byte that is followed by k more of a block of eight.
var crcTables = func() (t [8][256]uint16) {
	for i := range t[0] {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x100b
			} else {
				c <<= 1
			}
		}
		t[0][i] = c
	}
	for k := 1; k < len(t); k++ {
		for i, c := range t[k-1] {
			t[k][i] = c<<8 ^ t[0][c>>8]
		}
	}
	return t
}()

// crc16 is the section CRC: init 0xF6AA is 0xFFFF with the trailing 16 zero bits
// of the bit-serial definition taken into account; the result is inverted.
func crc16(data []byte) uint16 {
	c, t := uint16(0xf6aa), &crcTables
	for ; len(data) >= 8; data = data[8:] {
		c = t[7][data[0]^byte(c>>8)] ^ t[6][data[1]^byte(c)] ^ t[5][data[2]] ^ t[4][data[3]] ^
			t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]]
	}
	for _, b := range data {
		c = c<<8 ^ t[0][byte(c>>8)^b]
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
