package fwimage

import "encoding/binary"

// The section CRC of FS2 to FS4: CRC-16 with polynomial 0x100B, most significant bit
// first, over the bytes in file order. The definition starts with 0xffff and shifts
// sixteen zero bits through at the end. Starting with 0xf6aa gives the same without the
// zeros.
const (
	crcPoly  = 0x100b
	crcInit  = 0xf6aa
	crcFinal = 0xffff
)

// crcTables holds in [k][b] the CRC of byte b followed by k zero bytes. So sixteen
// bytes are done in one step, and verifying runs at disk speed.
var crcTables = makeCRCTables()

func makeCRCTables() *[16][256]uint16 {
	var t [16][256]uint16
	for b := range 256 {
		c := uint16(b) << 8
		for range 8 {
			c = timesX(c)
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

// timesX multiplies a polynomial by x, modulo crcPoly.
func timesX(c uint16) uint16 {
	if c&0x8000 != 0 {
		return c<<1 ^ crcPoly
	}
	return c << 1
}

// updateCRC continues a CRC register, which starts as crcInit, over p.
func updateCRC(c uint16, p []byte) uint16 {
	t := crcTables
	for len(p) >= 16 {
		v := binary.BigEndian.Uint64(p) ^ uint64(c)<<48
		w := binary.BigEndian.Uint64(p[8:])
		c = t[15][v>>56] ^ t[14][v>>48&0xff] ^ t[13][v>>40&0xff] ^ t[12][v>>32&0xff] ^
			t[11][v>>24&0xff] ^ t[10][v>>16&0xff] ^ t[9][v>>8&0xff] ^ t[8][v&0xff] ^
			t[7][w>>56] ^ t[6][w>>48&0xff] ^ t[5][w>>40&0xff] ^ t[4][w>>32&0xff] ^
			t[3][w>>24&0xff] ^ t[2][w>>16&0xff] ^ t[1][w>>8&0xff] ^ t[0][w&0xff]
		p = p[16:]
	}
	for _, b := range p {
		c = c<<8 ^ t[0][byte(c>>8)^b]
	}
	return c
}

// sectionCRC is the CRC of p as images store it.
func sectionCRC(p []byte) uint32 { return uint32(updateCRC(crcInit, p) ^ crcFinal) }

// appendCRC gives the register over A and B together. a is the register over A, b that
// over B alone, which is n bytes long. A CRC is linear: only the start value differs,
// and it is carried through n bytes. That saves a second pass over the image for the
// CRC that covers the whole.
func appendCRC(a, b uint16, n int64) uint16 {
	return b ^ timesX8N(a^crcInit, n)
}

// timesX8N multiplies a polynomial by x to the power of 8n, modulo crcPoly.
func timesX8N(v uint16, n int64) uint16 {
	factor := uint16(1) << 8
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			v = product(v, factor)
		}
		factor = product(factor, factor)
	}
	return v
}

func product(a, b uint16) uint16 {
	var r uint16
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			r ^= a
		}
		a = timesX(a)
	}
	return r
}
