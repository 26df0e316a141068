package fwimage

import "encoding/binary"

// The section CRC of FS2 to FS4: CRC-16 with polynomial 0x100B, most
// significant bit first, over the bytes in file order. The bit-serial
// definition starts with 0xffff and shifts sixteen zero bits through at the
// end; starting with 0xf6aa gives the same without them.
const (
	crcPoly  = 0x100b
	crcInit  = 0xf6aa
	crcFinal = 0xffff
)

// crcTables holds in [k][b] the CRC of byte b followed by k zero bytes, so that
// eight bytes are done in one step: verifying must run at disk speed.
var crcTables = makeCRCTables()

func makeCRCTables() *[8][256]uint16 {
	var t [8][256]uint16
	for b := range 256 {
		c := uint16(b) << 8
		for range 8 {
			carry := c&0x8000 != 0
			c <<= 1
			if carry {
				c ^= crcPoly
			}
		}
		t[0][b] = c
	}
	for k := 1; k < len(t); k++ {
		for b := range 256 {
			c := t[k-1][b]
			t[k][b] = c<<8 ^ t[0][c>>8]
		}
	}
	return &t
}

// updateCRC continues a CRC register, which starts as crcInit, over p.
func updateCRC(c uint16, p []byte) uint16 {
	t := crcTables
	for len(p) >= 8 {
		v := binary.BigEndian.Uint64(p) ^ uint64(c)<<48
		c = t[7][v>>56] ^ t[6][v>>48&0xff] ^ t[5][v>>40&0xff] ^ t[4][v>>32&0xff] ^
			t[3][v>>24&0xff] ^ t[2][v>>16&0xff] ^ t[1][v>>8&0xff] ^ t[0][v&0xff]
		p = p[8:]
	}
	for _, b := range p {
		c = c<<8 ^ t[0][byte(c>>8)^b]
	}
	return c
}

// sectionCRC is the CRC of p as images store it.
func sectionCRC(p []byte) uint32 { return uint32(updateCRC(crcInit, p) ^ crcFinal) }
