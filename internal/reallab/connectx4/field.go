//go:build linux

package connectx4

// field is a place in a structure, as mlx5_ifc.h counts: in bits from its begin, the most
// significant bit of a byte first.
type field struct{ at, width int }

func (f field) get(b []byte) (v uint64) {
	for i := f.at; i < f.at+f.width; i++ {
		v = v<<1 | uint64(b[i/8]>>(7-i%8)&1)
	}
	return v
}

func (f field) put(b []byte, v uint64) {
	for i := f.at + f.width - 1; i >= f.at; i-- {
		b[i/8] = b[i/8]&^(1<<(7-i%8)) | byte(v&1)<<(7-i%8)
		v >>= 1
	}
}

// fields are values of a structure.
type fields map[field]uint64

func (s fields) put(b []byte) {
	for f, v := range s {
		f.put(b, v)
	}
}

// number reads the 24 bits that name an object; they are the lower ones of a word.
func number(b []byte, word int) uint32 { return be.Uint32(b[word:]) & 0xffffff }

func flag(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
