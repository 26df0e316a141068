//go:build testbed && linux

package testbed

import (
	"bytes"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// Boards of ConnectX-4 and ConnectX-5 that do not exist.
const (
	psidCX4      = "MT_9180110032"
	psidCX4Other = "MT_9190110032"
	gen5GUID     = 0xec0d9a030076eae2
	gen5MAC      = 0xec0d9a76eae2
)

// tocSpec is an image of a chip, small for the same reason as the others.
func tocSpec(chip card.Chip, psid string, version [3]uint16) card.TOCSpec {
	return card.TOCSpec{
		Format: chip.Format, PSID: psid, Version: version, Product: "rel", Date: 0x20200915, Device: chip.PCIDevice,
		HWIDs: []uint32{uint32(chip.HWID)}, PRS: "testbed.prs", Part: "TESTBED", Log: 17, Code: smallCode,
	}
}

func tocCard(chip card.Chip, change func(*card.TOCSpec)) card.Config {
	s := tocSpec(chip, psidCX4, [3]uint16{12, 28, 2006})
	if change != nil {
		change(&s)
	}
	return card.Config{Chip: chip, Image: card.BuildTOC(s), GUIDs: [4]uint64{gen5GUID}, MACs: [2]uint64{gen5MAC}}
}

// laterChips are those whose images have a table of contents, by prefix of their images' names.
var laterChips = map[string]card.Chip{
	"cx4": card.ConnectX4, "cx5": card.ConnectX5, "cx6": card.ConnectX6, "cx6dx": card.ConnectX6Dx, "cx6lx": card.ConnectX6Lx,
	"cx7": card.ConnectX7,
}

// gen5Files are the images for both chips, by prefix of their names.
func gen5Files() map[string][]byte {
	all := map[string][]byte{}
	for prefix, chip := range laterChips {
		build := func(psid string, version [3]uint16, change func(*card.TOCSpec)) []byte {
			s := tocSpec(chip, psid, version)
			if change != nil {
				change(&s)
			}
			return card.BuildTOC(s)
		}
		newer := build(psidCX4, [3]uint16{12, 28, 4706}, nil)
		corrupt := append([]byte{}, newer...)
		corrupt[0x3180+int(codeShift(chip))] ^= 0x40
		all[prefix+"-new.bin"], all[prefix+"-corrupt.bin"] = newer, corrupt
		all[prefix+"-short.bin"] = newer[:0x3400+int(codeShift(chip))]
		all[prefix+"-same.bin"] = build(psidCX4, [3]uint16{12, 28, 2006}, nil)
		all[prefix+"-old.bin"] = build(psidCX4, [3]uint16{12, 18, 1000}, nil)
		all[prefix+"-other.bin"] = build(psidCX4Other, [3]uint16{12, 28, 4706}, nil)
		all[prefix+"-chip.bin"] = build(psidCX4, [3]uint16{12, 28, 4706},
			func(s *card.TOCSpec) { s.HWIDs, s.Device = []uint32{0x20b}, 0x1015 })
		all[prefix+"-rom.bin"] = build(psidCX4, [3]uint16{12, 28, 4706}, func(s *card.TOCSpec) { s.ROMDevice = 0x1015 })
		controlled := func(s *card.TOCSpec) { s.Signed, s.Flags = true, card.FlagControlled }
		all[prefix+"-ctrl.bin"] = build(psidCX4, [3]uint16{12, 28, 4706}, controlled)
		all[prefix+"-ctrl-old.bin"] = build(psidCX4, [3]uint16{12, 18, 1000}, controlled)
		all[prefix+"-ctrl-other.bin"] = build(psidCX4Other, [3]uint16{12, 28, 4706}, controlled)
		all[prefix+"-ctrl-chip.bin"] = build(psidCX4, [3]uint16{12, 28, 4706}, func(s *card.TOCSpec) {
			controlled(s)
			s.HWIDs, s.Device = []uint32{0x20b}, 0x1015
		})
		all[prefix+"-secure.bin"] = build(psidCX4, [3]uint16{12, 28, 4706}, func(s *card.TOCSpec) {
			s.Signed, s.Flags = true, card.FlagSecure|card.FlagControlled
		})
	}
	return all
}

// gen5Deals are the cases of one chip. What its image names begins with prefix.
func gen5Deals(chip card.Chip, prefix string) []deal {
	plain := func() card.Config { return tocCard(chip, nil) }
	renamed := func() card.Config {
		return tocCard(chip, func(s *card.TOCSpec) { s.OrigPSID = psidCX4Other; s.Part = "" })
	}
	renamedFlash := func() card.Config { c := renamed(); c.OrigPSID = psidCX4Other; return c }
	secured := func(flags uint16) func() card.Config {
		return func() card.Config {
			return tocCard(chip, func(s *card.TOCSpec) { s.Signed, s.Flags = true, flags })
		}
	}
	locked := func() card.Config { c := plain(); c.LockGUIDs = true; return c }
	earlier := func() card.Config {
		c := plain()
		c.Previous = gen5Files()[prefix+"-old.bin"]
		return c
	}
	file := func(name string) string { return "-i /img/" + prefix + "-" + name + ".bin" }
	list := []deal{
		{name: "query", card: plain, args: "@ q"},
		{name: "query full", card: plain, args: "@ q full"},
		{name: "query flashed version", card: plain, args: "--flashed_version @ q"},
		{name: "query of another PSID than it was made with", card: renamedFlash, args: "@ q full"},
		{name: "query secure", card: secured(card.FlagSecure | card.FlagControlled), args: "@ q full"},
		{name: "query signed", card: secured(card.FlagSigned | card.FlagControlled), args: "@ q full"},
		{name: "query controlled", card: secured(card.FlagControlled), args: "@ q full"},
		{name: "query with a dead image", card: earlier, args: "@ q"},
		{name: "query an empty flash", card: plain, flash: wipe, args: "@ q"},
		{name: "query a damaged flash", card: plain, flash: damagedAt(0x3100 + codeShift(chip)), args: "@ q"},
		{name: "query damaged device data", card: plain, flash: damagedKind(0xe1), args: "@ q"},
		{name: "query damaged manufacturing data", card: plain, flash: damagedKind(0xe0), args: "@ q"},
		{name: "query a damaged table", card: plain, flash: damagedAt(0x1010 + codeShift(chip)), args: "@ q"},
		{name: "verify", card: plain, args: "@ v"},
		{name: "verify secure", card: secured(card.FlagSecure | card.FlagControlled), args: "@ v"},
		{name: "verify an empty flash", card: plain, flash: wipe, args: "@ v"},
		{name: "verify a damaged flash", card: plain, flash: damagedAt(0x3100 + codeShift(chip)), args: "@ v"},
		{name: "verify damaged device data", card: plain, flash: damagedKind(0xe1), args: "@ v"},
		{name: "verify a damaged table", card: plain, flash: damagedAt(0x1010 + codeShift(chip)), args: "@ v"},
		{name: "verify a damaged boot block", card: plain, flash: damagedAt(0x60 + bootShift(chip)), args: "@ v"},
		{name: "hardware", card: plain, args: "@ hw query"},
		{name: "checksum", card: plain, args: "@ checksum"},
		{name: "checksum of damaged information", card: plain, flash: damagedKind(0x10), args: "@ checksum"},
		{name: "read image", card: plain, args: "@ ri /root/out.bin",
			then: []string{"-i /root/out.bin q", "-i /root/out.bin v", "-i /root/out.bin checksum"}},
		{name: "read image of an empty flash", card: plain, flash: wipe, args: "@ ri /root/out.bin"},
		{name: "read image of a damaged flash", card: plain, flash: damagedAt(0x3100 + codeShift(chip)),
			args: "@ ri /root/out.bin"},
		{name: "burn newer", card: plain, args: "@ " + file("new") + " b", then: []string{"@ q", "@ v", "@ checksum"}},
		{name: "burn over a dead image", card: earlier, args: "@ " + file("new") + " b", then: []string{"@ q", "@ v"}},
		{name: "burn twice and read", card: plain, args: "@ " + file("new") + " b", then: []string{
			"@ ri /root/out.bin", "-i /root/out.bin v", "-y @ " + file("same") + " b", "@ q", "@ ri /root/out.bin",
			"-i /root/out.bin v", "-y @ -i /root/out.bin b", "@ v"}},
		{name: "burn same version, EOF", card: plain, args: "@ " + file("same") + " b"},
		{name: "burn same version, answered y", card: plain, stdin: "y\n", args: "@ " + file("same") + " b"},
		{name: "burn older, EOF", card: plain, args: "@ " + file("old") + " b"},
		{name: "burn older, --no", card: plain, args: "--no @ " + file("old") + " b"},
		{name: "burn older, -y", card: plain, args: "-y @ " + file("old") + " b", then: []string{"@ q"}},
		{name: "burn other PSID", card: plain, args: "@ " + file("other") + " b"},
		{name: "burn other PSID, EOF", card: plain, args: "-allow_psid_change @ " + file("other") + " b"},
		{name: "burn other PSID, answered y", card: plain, stdin: "y\n", args: "-allow_psid_change @ " + file("other") + " b",
			then: []string{"@ q", "@ v"}},
		{name: "burn silently", card: plain, args: "-s @ " + file("new") + " b"},
		{name: "burn for another chip", card: plain, args: "-y @ " + file("chip") + " b"},
		{name: "burn with another ROM, EOF", card: plain, args: "@ " + file("rom") + " b"},
		{name: "burn with another ROM, -y", card: plain, args: "-y @ " + file("rom") + " b"},
		{name: "burn corrupt", card: plain, args: "-y @ " + file("corrupt") + " b"},
		{name: "burn short", card: plain, args: "-y @ " + file("short") + " b"},
		{name: "burn of an earlier generation", card: plain, args: "-y -allow_psid_change @ -i /img/vpi.bin b"},
		{name: "burn onto an empty flash", card: plain, flash: wipe, args: "-y @ " + file("new") + " b"},
		{name: "burn onto a damaged flash", card: plain, flash: damagedAt(0x3100 + codeShift(chip)),
			args: "-y @ " + file("new") + " b"},
		{name: "burn onto damaged information", card: plain, flash: damagedKind(0x10), args: "-y @ " + file("new") + " b"},
		{name: "burn with GUIDs", card: plain, args: "-y -guid 1 @ " + file("new") + " b"},
		{name: "burn with the image's GUIDs", card: plain, args: "-y -use_image_guids @ " + file("new") + " b"},
		{name: "set UID", card: plain, args: "-uid 0xe41d2d0300e44ed0 @ sg", then: []string{"@ q"}},
		{name: "set UID directly", card: plain, args: "-ocr -uid 0xe41d2d0300e44ed0 @ sg", then: []string{"@ q", "@ v"}},
		{name: "set UID directly, twice", card: plain, args: "-ocr -uid 0xe41d2d0300e44ed0 @ sg",
			then: []string{"-ocr -uid 0xe41d2d0300e44ee0 @ sg", "@ q", "@ v"}},
		{name: "set GUID and MAC directly", card: plain, args: "-ocr -guid 0xe41d2d0300e44ed0 -mac 0xe41d2de44ed8 @ sg",
			then: []string{"@ q"}},
		{name: "set all GUIDs", card: plain, args: "-ocr -guids 1 2 3 4 @ sg"},
		{name: "set a multicast MAC", card: plain, args: "-ocr -mac 0x0102030405aa @ sg"},
		{name: "set UID of a locked board", card: locked, args: "-ocr -uid 1 @ sg"},
		{name: "set UID of an empty flash", card: plain, flash: wipe, args: "-ocr -uid 1 @ sg"},
	}
	return list
}

// codeShift and bootShift are how far the parts of FS4 lie behind those of FS3.
func codeShift(chip card.Chip) uint32 {
	if chip.Format == card.FS4 {
		return 0x1000
	}
	return 0
}

func bootShift(chip card.Chip) uint32 {
	if chip.Format == card.FS4 {
		return 0xff0
	}
	return 0
}

// damagedAt clears bits at an address.
func damagedAt(at uint32) func(*card.Card) {
	return func(c *card.Card) { _ = c.Flash.Program(at, make([]byte, 8)) }
}

// damagedKind clears bits of the first section of a kind.
func damagedKind(kind byte) func(*card.Card) {
	return func(c *card.Card) {
		img, err := c.Flash.Active()
		if err != nil {
			panic(err)
		}
		for _, s := range img.TOC.Sections {
			if s.Kind == kind && !bytes.Equal(s.Data, bytes.Repeat([]byte{0xff}, len(s.Data))) {
				_ = c.Flash.Program(s.Addr+0x24, make([]byte, 8))
				return
			}
		}
		panic("no such section")
	}
}

// TestContract_of_generation_5 is the contract for chips whose images have a table
// of contents. Their firmware answers no command here: what the tool does then, it
// also does on a card whose firmware does not control its flash.
func TestContract_of_generation_5(t *testing.T) {
	t.Parallel()
	for prefix, chip := range map[string]card.Chip{"cx4": card.ConnectX4, "cx5": card.ConnectX5} {
		t.Run(chip.Name, func(t *testing.T) {
			t.Parallel()
			contract(t, "contract-"+prefix, gen5Deals(chip, prefix))
		})
	}
}
