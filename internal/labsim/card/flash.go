package card

import (
	"errors"
	"fmt"
	"sync"
)

// FlashSize and SectorSize are those of the simulated serial flash.
const (
	FlashSize  = 4 << 20
	SectorSize = 4096
)

// ErrPowerLost is what a flash operation ends with when the power fails in it.
var ErrPowerLost = errors.New("power lost during a flash operation")

// Op is one erase or program operation.
type Op struct {
	Number int // from 1
	Erase  bool
	Addr   uint32
	Size   int
}

// Flash is a serial flash: erase sets a sector to ones, program clears bits. The
// sectors are shared until written, so that hundreds of cards are cheap.
type Flash struct {
	mu      sync.Mutex
	sectors map[uint32][]byte // by sector number; missing: all ones
	ops     int
	hook    func(Op) error
	// writers counts the programs in the midst of a burn; disturbed says that
	// another one has used the flash since the last operation of one of them.
	writers   int
	disturbed bool
}

// Disturb is another program's access to the flash controller. Accesses of two
// programs interleave, and a burn under way reads back something else than it
// wrote (seen with mstflint 4.21 beside a query, 4 of 4).
func (f *Flash) Disturb() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disturbed = f.writers > 0
}

// startWriting marks a burn under way, until the returned function is called.
func (f *Flash) startWriting() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writers++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.writers--
		f.disturbed = false
	}
}

// SetHook installs a function that is asked before every erase and program. If it
// returns ErrPowerLost the operation is torn: half of it happens. Any other error
// means that nothing happens and the operation reports it.
func (f *Flash) SetHook(hook func(Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Operations counts the erase and program operations so far.
func (f *Flash) Operations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

func (f *Flash) begin(op Op) (cut bool, err error) {
	f.mu.Lock()
	f.ops++
	op.Number = f.ops
	hook, disturbed := f.hook, f.disturbed
	f.disturbed = false
	f.mu.Unlock()
	if disturbed {
		return false, &VerifyError{Addr: op.Addr, Size: op.Size}
	}
	if hook == nil {
		return false, nil
	}
	if err := hook(op); err != nil {
		return errors.Is(err, ErrPowerLost), err
	}
	return false, nil
}

// Erase sets one sector to ones.
func (f *Flash) Erase(addr uint32) error {
	cut, err := f.begin(Op{Erase: true, Addr: addr, Size: SectorSize})
	if err != nil && !cut {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := addr / SectorSize
	if !cut {
		delete(f.sectors, n)
		return nil
	}
	if old, ok := f.sectors[n]; ok {
		torn := append([]byte{}, old...)
		for i := range torn[:SectorSize/2] {
			torn[i] = 0xff
		}
		f.sectors[n] = torn
	}
	return err
}

// EraseBlock sets the 64 KiB around an address to ones, in one operation. Power
// that fails in it leaves the second half as it was.
func (f *Flash) EraseBlock(addr uint32) error {
	addr &^= blockSize - 1
	cut, err := f.begin(Op{Erase: true, Addr: addr, Size: blockSize})
	if err != nil && !cut {
		return err
	}
	size := uint32(blockSize)
	if cut {
		size /= 2
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for a := addr; a < addr+size; a += SectorSize {
		delete(f.sectors, a/SectorSize)
	}
	return err
}

// Program clears bits of at most one sector.
func (f *Flash) Program(addr uint32, data []byte) error {
	if int(addr%SectorSize)+len(data) > SectorSize || addr >= FlashSize {
		return fmt.Errorf("card: program of %d bytes at 0x%x crosses a sector", len(data), addr)
	}
	cut, err := f.begin(Op{Addr: addr, Size: len(data)})
	if err != nil && !cut {
		return err
	}
	if cut {
		data = data[:len(data)/2]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n := addr / SectorSize
	sector := make([]byte, SectorSize)
	if old, ok := f.sectors[n]; ok {
		copy(sector, old)
	} else {
		for i := range sector {
			sector[i] = 0xff
		}
	}
	for i, b := range data {
		sector[int(addr%SectorSize)+i] &= b
	}
	f.sectors[n] = sector
	return err
}

// Read returns size bytes at addr.
func (f *Flash) Read(addr uint32, size int) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]byte, size)
	for i := 0; i < size; {
		a := addr + uint32(i)
		in := int(a % SectorSize)
		n := min(SectorSize-in, size-i)
		if s, ok := f.sectors[a/SectorSize]; ok {
			copy(out[i:i+n], s[in:])
		} else {
			for k := i; k < i+n; k++ {
				out[k] = 0xff
			}
		}
		i += n
	}
	return out
}

// Dump returns the whole flash, striped as it is.
func (f *Flash) Dump() []byte { return f.Read(0, FlashSize) }

// stripe maps a logical address of a failsafe image in a slot to the flash.
func stripe(a, chunk, start uint32) uint32 {
	s := uint32(0)
	if start != 0 {
		s = 1
	}
	return a%chunk + 2*chunk*(a/chunk) + s*chunk
}

// readLogical reads a contiguous range of the image that starts at start.
func (f *Flash) readLogical(start, chunk uint32, failsafe bool, size uint32) []byte {
	if !failsafe {
		return f.Read(start, int(min(size, FlashSize-start)))
	}
	var out []byte
	for a := uint32(0); a < size; a += chunk {
		p := stripe(a, chunk, start)
		if p >= FlashSize {
			break
		}
		out = append(out, f.Read(p, int(min(chunk, size-a, FlashSize-p)))...)
	}
	return out
}

// Starts lists the addresses at which an image signature lies.
func (f *Flash) Starts() []uint32 {
	var list []uint32
	for _, s := range slots {
		if s >= FlashSize {
			continue
		}
		if b := f.Read(uint32(s), 16); string(b) == string(magic) || string(b) == string(magic4) {
			list = append(list, uint32(s))
		}
	}
	return list
}

// At reads the image that starts at an address. Like the tool's query it does not
// notice damaged code; Verify does.
func (f *Flash) At(start uint32) (*Image, error) {
	head := f.Read(start, 0x38)
	if format := formatOf(head); format != FS2 {
		return f.atTOC(format, start)
	}
	word := be32(head, 0x28)
	failsafe, chunk := word&8 != 0, uint32(1)<<(16+word&7)
	data := f.readLogical(start, chunk, failsafe, min(be32(head, 0x30), FlashSize/2))
	if len(data) < 0x40 {
		return nil, ErrNoImage
	}
	img, err := parseAt(data)
	if err == nil {
		err = img.sound(quickSections)
	}
	if img != nil {
		img.Start = start
	}
	return img, err
}

func (f *Flash) atTOC(format string, start uint32) (*Image, error) {
	img, err := parseTOC(format, func(addr uint32, n int) []byte {
		if uint64(addr)+uint64(n) > FlashSize {
			return nil
		}
		return f.Read(addr, n)
	}, FlashSize, start)
	if err == nil {
		err = img.sound(needed)
	}
	return img, err
}

// Active returns the image that the tool reports: the valid signature at the
// lowest address.
func (f *Flash) Active() (*Image, error) {
	starts := f.Starts()
	if len(starts) == 0 {
		return nil, ErrNoImage
	}
	return f.At(starts[0])
}

// Bootable returns the image that the card boots: the first whose sections are
// all right.
func (f *Flash) Bootable() (*Image, error) {
	for _, s := range f.Starts() {
		if img, err := f.At(s); err == nil && img.Verify() == nil {
			return img, nil
		}
	}
	return nil, ErrNoImage
}

// load puts an image, cut into sectors, into a slot without counting operations.
// A dead image has its first dword zeroed.
func (f *Flash) load(image [][]byte, start uint32, dead bool) {
	word := be32(image[0], 0x28)
	failsafe, chunk := word&8 != 0, uint32(1)<<(16+word&7)
	for i, sector := range image {
		a := uint32(i) * SectorSize
		p := start + a
		if failsafe {
			p = stripe(a, chunk, start)
		}
		if len(sector) < SectorSize {
			last := make([]byte, SectorSize)
			for k := copy(last, sector); k < SectorSize; k++ {
				last[k] = 0xff
			}
			sector = last
		}
		if i == 0 && dead {
			sector = append([]byte{}, sector...)
			put32(sector, 0, 0)
		}
		f.sectors[p/SectorSize] = sector
	}
}
