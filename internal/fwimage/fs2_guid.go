package fwimage

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

const (
	guidEntry      = 8
	guidEntries    = 6 // four GUIDs and two MACs
	oldGUIDEntries = 4 // without MACs

	maxMAC = 1<<48 - 1
)

// guidSection reads the identity. Values are taken as they are: cards with
// Ethernet-only firmware have GUIDs of all ones and are healthy.
func (r *fs2Reader) guidSection() error {
	if r.guid == nil {
		return badFormat(r.img.End, "no section GUID")
	}
	off, n := r.guid.offset+sectionHeader, (r.guid.size-sectionHeader-4)/guidEntry
	if rest := (r.guid.size - sectionHeader - 4) % guidEntry; rest != 0 || n != guidEntries && n != oldGUIDEntries {
		return badFormat(r.guid.offset, "section GUID of %d bytes, possible are %d and %d entries of %d bytes",
			r.guid.size-sectionHeader-4, oldGUIDEntries, guidEntries, guidEntry)
	}
	entry := func(i int64) uint64 { return binary.BigEndian.Uint64(r.data[off+i*guidEntry:]) }
	g := &r.img.GUIDs
	g.Node, g.Port1, g.Port2, g.SystemImage = ib.GUID(entry(0)), ib.GUID(entry(1)), ib.GUID(entry(2)), ib.GUID(entry(3))
	if n == guidEntries {
		g.MAC1, g.MAC2 = ib.MAC(entry(4)&maxMAC), ib.MAC(entry(5)&maxMAC)
	}
	if r.img.Identity == "" {
		r.img.Identity = identityOf(*g)
	}
	return nil
}

// identityOf classifies by values. One unique value makes the whole unique: burning it
// elsewhere would make a duplicate.
func identityOf(g ib.GUIDSet) Identity {
	id := IdentityNone
	for _, v := range []ib.GUID{g.Node, g.Port1, g.Port2, g.SystemImage} {
		switch {
		case v.IsNone():
		case v>>8 == 0x0002c9000100d0:
			id = IdentityPlaceholder
		default:
			return IdentityUnique
		}
	}
	for _, m := range []ib.MAC{g.MAC1, g.MAC2} {
		switch {
		case m.IsZero() || m.IsBroadcast():
		case m>>8 == 0x0002c90000:
			id = IdentityPlaceholder
		default:
			return IdentityUnique
		}
	}
	return id
}

// pointers checks that header and chain agree on where the sections are. The card's
// boot code and mstflint follow the pointers of the header.
func (r *fs2Reader) pointers() error {
	if p := int64(r.word(offInfoPtr) & 0xffffff); p != r.info.offset+sectionHeader {
		return badFormat(offInfoPtr, "the header says that the data of section Image Info is at 0x%x, but it is at 0x%x",
			p, r.info.offset+sectionHeader)
	}
	if p := int64(r.word(offGUIDPtr)); p != r.guid.offset+sectionHeader {
		return badFormat(offGUIDPtr, "the header says that the data of section GUID is at 0x%x, but it is at 0x%x",
			p, r.guid.offset+sectionHeader)
	}
	return nil
}

// imageCRC verifies the CRC over the whole image, the only one over the
// header. mstflint prints a mismatch and calls the image bootable.
//
// Images of tools too old to state their version have none, so nothing can be
// demanded there.
func (r *fs2Reader) imageCRC() error {
	stored := r.word(offImageCRC)
	want := uint32(r.crc ^ crcFinal)
	r.img.HeaderCRC = stored&0xffff == want
	switch {
	case r.img.HeaderCRC:
	case r.img.Identity == IdentityBlank && stored&0xffff == blankCRC:
		r.img.warn("The image has no CRC over its header, since its GUIDs are blank; the pointers in it were checked " +
			"instead.")
	case !r.mic:
		r.img.warn("The image has no CRC over its header (made by an old tool); the pointers in it were checked instead.")
	default:
		return wrongCRC(nameImage, 0, want, stored&0xffff)
	}
	return r.length()
}

// length compares the length in the header with the end of the chain. If the CRC is
// right, the image was made with that difference.
func (r *fs2Reader) length() error {
	length := int64(r.word(offLength))
	switch {
	case length == r.img.End:
		return nil
	case length > int64(len(r.data)):
		return truncated("image", 0, length, int64(len(r.data)))
	case !r.img.HeaderCRC:
		return badFormat(offLength, "the header says that the image has 0x%x bytes, but its last section ends at 0x%x",
			length, r.img.End)
	}
	return nil
}
