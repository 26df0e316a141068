package synth

import "encoding/binary"

func (b *tocBuilder) imageInfo() []byte {
	o, p := b.o, make([]byte, 1024)
	u16 := func(off int, v uint16) { binary.BigEndian.PutUint16(p[off:], v) }
	u32 := func(off int, v uint32) { binary.BigEndian.PutUint32(p[off:], v) }
	p[1] = o.InfoMinor
	u16(2, o.Flags)
	u16(4, o.Version.Major)
	u16(8, o.Version.Minor)
	u16(10, o.Version.Sub)
	u32(12, 0x00301500)
	u32(16, bcd(o.ReleaseDate))
	u16(20, 2) // version of the tool that made it
	u16(28, o.DeviceType)
	u16(30, 0x15b3)
	copy(p[36:], o.PSID)
	u16(54, 0x15b3)
	copy(p[56:], o.ImageVSD)
	u32(264, uint32(o.SlotBits))
	for i, hw := range o.HWIDs {
		u32(280+4*i, uint32(hw.Rev)<<16|uint32(hw.ID))
	}
	copy(p[448:], o.ProductVersion)
	copy(p[464:], o.Description)
	u16(788, o.ISSU<<4)
	copy(p[832:], o.PartNumber)
	copy(p[896:], o.PRSName)
	return p
}

// ranges writes the addresses of a card: one range of each kind, or one for
// each port.
func (b *tocBuilder) ranges(guid, mac Range) []byte {
	all := []Range{guid, mac}
	if b.o.PerPort {
		guid2, mac2 := guid, mac
		guid2.Base += uint64(guid.Count)
		mac2.Base += uint64(mac.Count)
		all = []Range{guid, guid2, mac, mac2}
	}
	var p []byte
	for _, r := range all {
		p = append(p, 0, 0, r.Step, r.Count, 0, 0, 0, 0)
		p = binary.BigEndian.AppendUint64(p, r.Base)
	}
	return p
}

// layout is the major version of a section, one less for Connect-IB.
func (b *tocBuilder) layout(present byte) byte {
	if b.o.PerPort {
		return present - 1
	}
	return present
}

func (b *tocBuilder) mfgInfo() []byte {
	p := make([]byte, 320)
	copy(p, b.o.OrigPSID)
	p[28] = b.layout(1)
	if !b.o.LockGUIDs {
		p[31] = 1
	}
	copy(p[32:], b.ranges(*b.o.OrigGUID, *b.o.OrigMAC))
	if b.o.OrigPRSName != "" {
		p[29] = 1
		copy(p[96:], b.o.OrigPRSName)
	}
	return p
}

func (b *tocBuilder) devInfo() []byte {
	p := make([]byte, 512)
	copy(p, magicDev)
	p[18] = b.layout(2)
	copy(p[32:], b.ranges(b.o.GUID, b.o.MAC))
	binary.BigEndian.PutUint16(p[110:], 0x15b3)
	copy(p[112:], b.o.VSD)
	return p
}
