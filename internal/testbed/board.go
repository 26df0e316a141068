//go:build testbed && linux

package testbed

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Board is what the maker wrote about a board into its vital product data.
type Board struct{ Product, PartNumber, SerialNumber string }

// Capabilities of the function, where ConnectX-3 has them. None is of the
// vendor: with one of those the tools would take another way to the registers.
const (
	capVPD     = 0x48
	capExpress = 0x60
)

// capabilities writes the list of capabilities behind a header.
func putCapabilities(h []byte) {
	le := binary.LittleEndian
	le.PutUint16(h[0x06:], 0x0010) // there is a list
	h[0x34] = capVPD
	h[capVPD], h[capVPD+1] = 0x03, capExpress
	h[capExpress] = 0x10
	le.PutUint16(h[capExpress+0x02:], 0x0002)               // version 2, endpoint
	le.PutUint32(h[capExpress+0x0c:], 8<<24|8<<4|3)         // port 8, 8 lanes, 8 GT/s
	le.PutUint16(h[capExpress+0x12:], 8<<4|3)               // as it is now
	le.PutUint32(h[capExpress+0x2c:], (1<<1 | 1<<2 | 1<<3)) // the speeds that it can do
}

// vpd is the vital product data in the form of the PCI standard: a name, a list
// of fields with a checksum, and an end.
func (b Board) vpd() []byte {
	if b == (Board{}) {
		return nil
	}
	name := []byte(cmp.Or(b.Product, "Mellanox adapter"))
	data := slices.Concat([]byte{0x82, byte(len(name)), byte(len(name) >> 8)}, name)
	var fields []byte
	for _, f := range [][2]string{{"PN", b.PartNumber}, {"EC", "A4"}, {"SN", b.SerialNumber}, {"V0", "PCIe Gen3 x8"}} {
		fields = append(append(fields, f[0][0], f[0][1], byte(len(f[1]))), f[1]...)
	}
	size := len(fields) + 4
	data = slices.Concat(data, []byte{0x90, byte(size), byte(size >> 8)}, fields, []byte{'R', 'V', 1})
	var sum byte
	for _, c := range data {
		sum += c
	}
	return append(data, -sum, 0x78)
}
