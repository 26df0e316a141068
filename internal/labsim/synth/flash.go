package synth

import (
	"bytes"
	"fmt"
)

// Slot is what goes into one slot of a flash.
type Slot struct {
	Image       []byte // contiguous; nil leaves the slot erased
	Invalidated bool   // zero the first word, as a burn does to the predecessor
	Unfinished  bool   // leave the first 16 bytes erased, as an interrupted burn does
}

// Flash builds the content of a whole flash with two slots: slot 0 owns the
// even chunks, slot 1 the odd ones. With chunk 0 there is one place at the
// start, and only slot 0 may be used.
func Flash(size, chunk int64, slots ...Slot) ([]byte, error) {
	flash := bytes.Repeat([]byte{0xff}, int(size))
	if len(slots) > 2 || chunk == 0 && len(slots) > 1 {
		return nil, fmt.Errorf("%d slots do not go into this flash", len(slots))
	}
	for n, s := range slots {
		image := bytes.Clone(s.Image)
		switch {
		case len(image) < 16:
			continue
		case s.Invalidated:
			clear(image[:4])
		case s.Unfinished:
			copy(image, bytes.Repeat([]byte{0xff}, 16))
		}
		for at := range image {
			to := physical(int64(at), chunk, int64(n))
			if to >= size {
				return nil, fmt.Errorf("the image of %d bytes in slot %d does not fit into a flash of %d bytes", len(image), n,
					size)
			}
			flash[to] = image[at]
		}
	}
	return flash, nil
}

func physical(logical, chunk, slot int64) int64 {
	if chunk == 0 {
		return logical
	}
	return logical%chunk + 2*chunk*(logical/chunk) + slot*chunk
}
