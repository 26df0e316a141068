package registers

import (
	"cmp"
	"slices"
)

// Board is what the maker wrote about a board into its vital product data.
type Board struct{ Product, PartNumber, SerialNumber string }

// VPD is the vital product data in the form of the PCI standard: a name, a list
// of fields with a checksum, and an end. A board without a part number has none.
func (b Board) VPD() []byte {
	if b.PartNumber == "" {
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
