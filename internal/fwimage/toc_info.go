package fwimage

import (
	"encoding/binary"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Flags of IMAGE_INFO, in the low half of its first word.
const (
	flagSecure    = 0x8000
	flagSigned    = 0x4000
	flagDebug     = 0x2000
	flagControl   = 0x0100 // updates go through the firmware itself
	flagEncrypted = 0x0018
)

// Lengths that mstflint keeps of texts.
const (
	maxTOCPRSName = 96
	maxHWIDsTOC   = 4
)

// imageInfo reads the section that describes the image. Its layout is the same
// in FS3 and FS4.
func (r *tocReader) imageInfo(e tocEntry, p []byte) error {
	if p[0] != 0 {
		return badFormat(e.addr, "section IMAGE_INFO of unknown version %d.%d", p[0], p[1])
	}
	img := r.img
	u16 := func(off int) uint16 { return binary.BigEndian.Uint16(p[off:]) }
	u32 := func(off int) uint32 { return binary.BigEndian.Uint32(p[off:]) }
	r.imageVersion, r.flags = p[1], u16(2)
	img.FWVersion = ib.FWVersion{Major: u16(4), Minor: u16(8), Sub: u16(10)}
	img.ReleaseDate = bcdDate(u32(16))
	if img.Format == FS4 && r.imageVersion >= 3 {
		img.DeviceType = u16(28)
	}
	img.VSDVendor = u16(54)
	img.ProductVersion = printable(p[448:][:16])
	if r.imageVersion == 2 || r.imageVersion == 3 {
		img.PartNumber = printable(p[832:][:64])
		img.PRSName = printable(p[896:][:maxTOCPRSName])
	}
	psid, err := parsePSID(e.addr+36, p[36:][:16])
	if err != nil {
		return err
	}
	img.PSID = psid
	return r.chips(e, p[280:][:4*maxHWIDsTOC])
}

// chips reads the list of chips, which an entry of zero ends. mstflint fails on an
// image if it does not know the first one.
func (r *tocReader) chips(e tocEntry, p []byte) error {
	for ; len(p) > 0; p = p[4:] {
		w := binary.BigEndian.Uint32(p)
		if w == 0 {
			break
		}
		r.img.HWIDs = append(r.img.HWIDs, ib.HWID{ID: uint16(w), Rev: uint8(w >> 16)})
	}
	switch {
	case len(r.img.HWIDs) == 0:
		return noHardware(e.addr + 280)
	case !knownChips[r.img.HWIDs[0].ID]:
		return badFormat(e.addr+280, "the first chip that the image is for is unknown (%s)", r.img.HWIDs[0])
	case r.img.FWVersion.IsZero():
		return badFormat(e.addr+4, "the image does not state its firmware version")
	}
	if chip, ok := ib.ChipByHWID(r.img.HWIDs[0]); ok && r.img.DeviceType == 0 {
		r.img.DeviceType = chip.PCIDevice
	}
	return nil
}

// knownChips are the hardware ids that mstflint 4.21 knows, those of ConnectX,
// BlueField, switches and gearboxes.
var knownChips = map[uint16]bool{
	0x1f5: true, 0x1f7: true, 0x1ff: true, 0x209: true, 0x20b: true, 0x20d: true, 0x20f: true, 0x212: true, 0x216: true,
	0x218: true, 0x21e: true, 0x211: true, 0x214: true, 0x21c: true, 0x220: true, 0x247: true, 0x249: true, 0x24b: true,
	0x24d: true, 0x24e: true, 0x250: true, 0x257: true, 0x25b: true, 0x254: true, 0x252: true, 0x253: true, 0x256: true,
}

// mfgInfo checks what the manufacturer has put into the card: mstflint refuses an
// image of which it does not know that version.
func (r *tocReader) mfgInfo(e tocEntry, p []byte) error {
	_, err := uids(e, p[32:96], uint16(p[28]), 1)
	return err
}

// devInfo reads what the card has now.
func (r *tocReader) devInfo(e tocEntry, p []byte) (err error) {
	r.hasDevInfo = true
	r.device, err = uids(e, p[32:96], uint16(binary.BigEndian.Uint32(p[16:])>>8)&0x1ff, 2)
	return err
}

// uids reads the addresses of a card. The present layout, whose major version
// the caller gives, has one range of each kind; its predecessor, of Connect-IB,
// one for each port.
func uids(e tocEntry, p []byte, major, present uint16) (identityInfo, error) {
	ports := 1
	switch major {
	case present:
	case present - 1:
		ports = 2
	default:
		return identityInfo{}, badFormat(e.addr, "section %s of unknown version %d", e.name(), major)
	}
	var id identityInfo
	for i := range 2 * ports {
		uid := binary.BigEndian.Uint64(p[16*i+8:])
		if i < ports {
			id.guids = append(id.guids, ib.GUID(uid))
			continue
		}
		id.macs = append(id.macs, ib.MAC(uid&maxMAC))
	}
	return id, nil
}

// finish puts together what the sections say.
func (r *tocReader) finish() error {
	img := r.img
	if _, ok := r.seen[tocImageInfo]; !ok {
		return badFormat(r.tableAt, "no section IMAGE_INFO")
	}
	r.identity()
	img.Security = r.security()
	if r.flags&flagEncrypted != 0 {
		img.warn("The image says that its code is encrypted.")
	}
	if r.unprotected > 0 {
		img.warn(fmt.Sprintf("%d sections of the firmware carry no CRC.", r.unprotected))
	}
	for _, rom := range r.roms {
		img.readROM(rom)
	}
	return nil
}

// identity takes the addresses that the card has.
func (r *tocReader) identity() {
	img := r.img
	if len(r.device.guids) > 0 {
		img.GUIDs.Node, img.GUIDs.MAC1 = r.device.guids[0], r.device.macs[0]
	}
	if len(r.device.guids) > 1 {
		img.GUIDs.Port2, img.GUIDs.MAC2 = r.device.guids[1], r.device.macs[1]
	}
	img.Identity = identityOf(img.GUIDs)
}

// security follows the tool: the flags count only in a signed image that has
// the keys to check others with.
func (r *tocReader) security() Security {
	s := Security{Version: r.secVersion}
	if !r.hasSignature || !r.hasKeys || r.flags&flagControl == 0 {
		return s
	}
	s.FWControl = true
	s.Secure, s.Signed = r.flags&flagSecure != 0, r.flags&flagSigned != 0
	s.Debug, s.Dev = r.flags&flagDebug != 0, r.devSignature
	return s
}

const magicDevInfo = "mDevInfo\x23\x42\xca\xfa\xba\xca\xfe\x00"

func isDevInfo(body []byte) bool { return string(body[:len(magicDevInfo)]) == magicDevInfo }
