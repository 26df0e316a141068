package safety

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/release"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/rollback"
)

// laterCard makes card and image those of a later chip, with nothing against a burn.
func laterCard(in *FirmwareInput, device uint16) *CardFacts {
	c := &in.Card
	c.Chip, _ = ib.ChipByPCI(device)
	c.DeviceID, c.Driver, c.Flash.ImageType, c.UpdateMethod, c.Flash.SecurityAttrs, c.Ports = device, "mlx5_core",
		c.Chip.Format, "Legacy", "N/A", []inventory.Port{{Number: 1}}
	silicon := ib.HWID{ID: c.Chip.HWID}
	c.HWID = fact.Known(silicon)
	c.Flash.GUIDs = ib.GUIDSet{Node: 0xec0d9a030076eae2, Port1: 0xec0d9a030076eae2, SystemImage: 0xec0d9a030076eae2,
		MAC1: 0xec0d9a76eae2}
	in.Image.Format, in.Image.HWIDs = c.Chip.Format, []ib.HWID{silicon}
	return c
}

// secured makes the card one with secure firmware, with an image of what it has as the way back.
func secured(in *FirmwareInput) *CardFacts {
	c := laterCard(in, 0x1021)
	c.UpdateMethod, c.Flash.SecurityAttrs, c.Verified, c.VerifyError = "fw_ctrl", "secure-fw", VerifyUnknown, "not supported"
	c.Serial = fact.Known("MT1712X00002")
	c.Checksum, c.ChecksumWhy = "", "Unsupported operation under Secure FW"
	in.Image.Controlled, in.Image.SHA256 = true, "new"
	back := in.Image
	back.Firmware, back.Release, back.Product, back.ROM = c.Flash.Firmware, c.Flash.ReleaseDate, c.Flash.ProductVersion, c.Flash.ROM
	back.SHA256 = "old"
	c.Rollback = &back
	return c
}

// A burn without a copy of the flash is permitted with the consent that names card and images, and with
// the rollback image in the place of the backup.
func TestFirmware_without_a_copy(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(in *FirmwareInput)
		permits bool
	}{
		"as allowed": {func(*FirmwareInput) {}, true},
		"no serial number": {func(in *FirmwareInput) {
			in.Card.Serial = fact.Unknown[string]("lspci is not installed")
			in.Request.WithoutCopy.Card = in.Card.Flash.GUIDs.Node.String()
		}, true},
		"another card":                 {func(in *FirmwareInput) { in.Request.WithoutCopy.Card = "MT1" }, false},
		"another backup":               {func(in *FirmwareInput) { in.Backup.SHA256 = "other" }, false},
		"a chip that was not tried":    {func(in *FirmwareInput) { in.Card.Chip.Name = "Connect-IB" }, false},
		"firmware that is not reached": {func(in *FirmwareInput) { in.Card.UpdateMethod += ", but" }, false},
	} {
		in := goodFirmware()
		secured(&in)
		in.Request.WithoutCopy = rollback.Consent{Card: in.Card.Serial.Or(""), Rollback: "old", Image: "new"}
		in.Backup = goodBackup()
		in.Backup.SHA256, in.Backup.GUIDs = "old", ib.GUIDSet{} // an image has no GUIDs of a card
		c.change(&in)
		v := Firmware(in)
		if got := v.Permits(ActionBurn, in.Card.Host+"/"+in.Card.PCI.String()); got != c.permits {
			t.Errorf("%s: permits %t: %+v", name, got, v.Findings)
		}
	}
}

func TestFirmware_of_later_chips(t *testing.T) {
	for _, device := range []uint16{0x1013, 0x1015, 0x1017, 0x1019, 0x101b, 0x101d, 0x101f} {
		in := goodFirmware()
		laterCard(&in, device)
		in.Backup = goodBackup()
		in.Backup.GUIDs = in.Card.Flash.GUIDs
		in.Backup.Layout = FlashLayout{Slot: 1 << 23}
		in.Image.Slot = 1 << 23
		for _, method := range []string{"Legacy", "fw_ctrl"} {
			if method == "Legacy" && release.OnlyByFirmware(in.Card.Chip.Name) != "" {
				continue
			}
			in.Card.UpdateMethod, in.Image.Controlled = method, true
			v := Firmware(in)
			if v.Blocked() || !v.Permits(ActionBurn, "intel9/"+here.String()) {
				t.Errorf("%s, %s: %+v", in.Card.Chip.Name, method, v.Blockers())
			}
		}
	}
}

// Of an image that firmware has staged, a query has version and date only.
func TestHolds_of_a_staged_image(t *testing.T) {
	in := goodFirmware()
	c := laterCard(&in, 0x1017)
	c.Checksum, c.Flash.Firmware, c.Flash.ReleaseDate = "", in.Image.Firmware, in.Image.Release
	in.Image.Product, c.Flash.ProductVersion = "rel-16_35_8008", "rel-16_35_4030"
	for _, tt := range []struct {
		method  string
		running ib.FWVersion
		want    bool
	}{{"fw_ctrl", fw236, true}, {"fw_ctrl", ib.FWVersion{}, false}, {"Legacy", fw236, false}} {
		c.UpdateMethod, c.Flash.RunningFW = tt.method, tt.running
		if got := Holds(in.Card, in.Image); got != tt.want {
			t.Errorf("%s, running %s: %t", tt.method, tt.running, got)
		}
	}
}

// TestFirmware_never_answers_for_the_ROM_of_later_chips holds the number of answers: the
// tool of later chips asks no question about the ROM, so that an answer meant for it
// would be taken for the next question.
func TestFirmware_never_answers_for_the_ROM_of_later_chips(t *testing.T) {
	in := goodFirmware()
	laterCard(&in, 0x1013)
	in.Card.Flash.ROM, in.Image.ROM, in.Card.Flash.ProductVersion, in.Image.Product = []string{"PXE"}, []string{"PXE"}, "", ""
	in.Card.Flash.FW, in.Image.FW = fw242, fw236
	runsVersion(&in.Card, fw242)
	in.Request.Downgrade = &Change[ib.FWVersion]{From: fw242, To: fw236}
	if v := Firmware(in); !slices.Equal(v.Answers, []Question{QuestionVersion}) {
		t.Errorf("answers %q; findings %+v", v.Answers, v.Blockers())
	}
}

func TestRecovery_of_later_chips_takes_their_device_data(t *testing.T) {
	in := goodFirmware()
	laterCard(&in, 0x1013).Livefish = true
	f := expectFinding(t, Firmware(in).Findings, "FW041", finding.Refuse)
	for _, part := range []string{"-nofs -ignore_dev_data -i /var/lib/", "Without a backup, take the image of the board",
		"mstflint -d 0000:01:00.0 -ocr -guid GUID -mac MAC sg"} {
		if !strings.Contains(f.WayOut, part) {
			t.Errorf("%q is missing in %s", part, f.WayOut)
		}
	}
}

// What a tool that was killed leaves set is named with its way out, which nobody goes blindly.
func TestFlash_held_by_a_dead_tool(t *testing.T) {
	for text, device := range map[string]uint16{
		"Cannot open Device: 0000:01:00.0. No such file or directory. MFE_CR_ERROR": 0x1013,
		"mstflint did not answer in time":                                           0x1017,
	} {
		in := goodFirmware()
		c := laterCard(&in, device)
		c.Flash, c.FlashError = nil, text
		f := expectFinding(t, Firmware(in).Findings, "FW044", finding.Refuse)
		for _, want := range []string{"no process", "mstmcra -c " + c.PCI.String(), "which no command frees"} {
			if !strings.Contains(f.WayOut, want) {
				t.Errorf("%s: %q is missing in %s", text, want, f.WayOut)
			}
		}
		c.Chip, _ = ib.ChipByPCI(0x1007)
		if f = expectFinding(t, Firmware(in).Findings, "FW044", finding.Refuse); strings.Contains(f.WayOut, "mstmcra") {
			t.Errorf("%s: a ConnectX-3 has no such semaphore: %s", text, f.WayOut)
		}
	}
}
