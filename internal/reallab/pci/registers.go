package pci

import "encoding/binary"

var be = binary.BigEndian

// ReadWords fills p from big-endian registers of four bytes. Each is read once.
func ReadWords(off uint64, p []byte, read func(addr uint32) uint32) {
	for n := range p {
		at := off + uint64(n)
		if n == 0 || at%4 == 0 {
			var w [4]byte
			be.PutUint32(w[:], read(uint32(at)&^3))
			copy(p[n:], w[at&3:])
		}
	}
}

// WriteWords stores whole big-endian registers of four bytes.
func WriteWords(off uint64, p []byte, write func(addr, v uint32)) {
	for n := 0; n+4 <= len(p) && off%4 == 0; n += 4 {
		write(uint32(off)+uint32(n), be.Uint32(p[n:]))
	}
}
