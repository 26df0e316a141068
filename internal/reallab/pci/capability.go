package pci

// Capabilities of a function, by number.
const (
	capPower   = 0x01
	capVPD     = 0x03
	capExpress = 0x10
	capMSIX    = 0x11
)

// Capability adds one at a place, and gives the bytes from there on.
func (s *Space) Capability(at int, id byte) []byte {
	s.bytes[s.link] = byte(at)
	le.PutUint16(s.bytes[atStatus:], le.Uint16(s.bytes[atStatus:])|hasCapabilities)
	c := s.bytes[at:]
	c[0] = id
	s.link = at + 1
	return c
}

// AddPower adds power management, version 3.
func (s *Space) AddPower(at int) {
	le.PutUint16(s.Capability(at, capPower)[2:], 3)
	s.Allow(at+4, at+6)
}

// AddVPD adds vital product data.
func (s *Space) AddVPD(at int, data []byte) {
	s.Capability(at, capVPD)
	s.vpd, s.vpdAt = data, at
	s.Allow(at+2, at+4)
}

// readVPD fetches four bytes of the vital product data, at the address that was written.
// Bit 15 says that they are there; a write of them changes nothing.
func (s *Space) readVPD() {
	const there = 0x8000
	c := s.bytes[s.vpdAt:]
	at := le.Uint16(c[2:])
	if at&there != 0 {
		le.PutUint16(c[2:], at&^there)
		return
	}
	var word [4]byte
	if int(at) < len(s.vpd) {
		copy(word[:], s.vpd[at:])
	}
	copy(c[4:], word[:])
	le.PutUint16(c[2:], at|there)
}

// Link is what an Express link can do, and does.
type Link struct {
	Lanes  uint32
	Speeds uint32 // 1 for 2.5 GT/s alone, 3 for up to 8 GT/s
}

// AddExpress adds PCI Express of an endpoint that cannot be reset by itself. The
// capability of a link of 2.5 GT/s is of the first version, which is 20 bytes long; others
// have the second, of 60 bytes.
func (s *Space) AddExpress(at int, l Link) {
	c := s.Capability(at, capExpress)
	le.PutUint16(c[0x02:], 1) // version
	le.PutUint32(c[0x04:], 0x8fe2)
	le.PutUint32(c[0x0c:], 8<<24|l.Lanes<<4|l.Speeds) // port 8
	le.PutUint16(c[0x12:], uint16(1<<12|l.Lanes<<4|l.Speeds))
	if l.Speeds > 1 {
		le.PutUint16(c[0x02:], 2)
		le.PutUint32(c[0x2c:], (1<<l.Speeds-1)<<1)
	}
	s.Allow(at+8, at+10)  // device control
	s.Allow(at+16, at+18) // link control
}

// AddMSIX adds interrupts by messages, with table and pending bits in the first region.
func (s *Space) AddMSIX(at int, vectors uint16, table, pending uint32) {
	c := s.Capability(at, capMSIX)
	le.PutUint16(c[2:], vectors-1)
	le.PutUint32(c[4:], table)
	le.PutUint32(c[8:], pending)
	s.Allow(at+3, at+4)
}

// AddSerial adds the serial number, the first of the extended capabilities.
func (s *Space) AddSerial(guid uint64) {
	const at, id = 0x100, 0x00010003
	c := s.bytes[at:]
	le.PutUint32(c, id)
	le.PutUint32(c[4:], uint32(guid))
	le.PutUint32(c[8:], uint32(guid>>32))
}
