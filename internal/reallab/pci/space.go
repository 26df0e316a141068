// Package pci is what every PCI function of the lab has, whatever its chip: the
// configuration space with its capabilities, vital product data, registers of four bytes,
// and timers that do not outlive a reset. It must not know what the function does.
package pci

import "encoding/binary"

var le = binary.LittleEndian

// SpaceSize is the size of the configuration space of PCI Express.
const SpaceSize = 4096

// Kinds of a base address register of memory.
const (
	Memory64       = 0x4
	Prefetchable64 = 0xc
)

// Header is the constant part of the configuration space.
type Header struct {
	Vendor, Device       uint16
	SubVendor, Subsystem uint16
	Revision             byte
	Class                uint32         // of 24 bits
	BARs                 map[int]uint32 // kind by number
}

// Space is a configuration space. Its capabilities are linked in the order in which they
// are added.
type Space struct {
	bytes    [SpaceSize]byte
	writable [][2]int
	link     int // where the place of the next capability is written
	vpd      []byte
	vpdAt    int
}

// Places in the header of a function (PCI Local Bus 3.0, 6.1).
const (
	atVendor, atDevice, atCommand, atStatus = 0x00, 0x02, 0x04, 0x06
	atRevision, atCacheLine, atBARs         = 0x08, 0x0c, 0x10
	atSubVendor, atSubsystem                = 0x2c, 0x2e
	atCapabilities, atInterruptLine         = 0x34, 0x3c
	hasCapabilities                         = 0x10
)

// NewSpace makes a space without capabilities. Software may write the command, what lies
// from the cache line to the last base address, and the interrupt line.
func NewSpace(h Header) *Space {
	s := &Space{link: atCapabilities,
		writable: [][2]int{{atCommand, atCommand + 2}, {atCacheLine, atBARs + 6*4}, {atInterruptLine, atInterruptLine + 1}}}
	b := s.bytes[:]
	le.PutUint16(b[atVendor:], h.Vendor)
	le.PutUint16(b[atDevice:], h.Device)
	le.PutUint32(b[atRevision:], h.Class<<8|uint32(h.Revision))
	for n, kind := range h.BARs {
		le.PutUint32(b[atBARs+4*n:], kind)
	}
	le.PutUint16(b[atSubVendor:], h.SubVendor)
	le.PutUint16(b[atSubsystem:], h.Subsystem)
	return s
}

// Allow lets software write the bytes of a range.
func (s *Space) Allow(from, to int) { s.writable = append(s.writable, [2]int{from, to}) }

// Word is the word of four bytes at an offset.
func (s *Space) Word(off int) uint32 { return le.Uint32(s.bytes[off:]) }

// Read fills p, which lies inside the space.
func (s *Space) Read(off int, p []byte) { copy(p, s.bytes[off:]) }

// Write stores the bytes of p that software may write.
func (s *Space) Write(off int, p []byte) {
	for n, v := range p {
		for _, r := range s.writable {
			if at := off + n; at >= r[0] && at < r[1] {
				s.bytes[at] = v
			}
		}
	}
	if last := s.vpdAt + 3; s.vpdAt != 0 && off <= last && off+len(p) > last {
		s.readVPD()
	}
}
