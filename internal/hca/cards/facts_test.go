package cards

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// quietCard is a card whose driver made no RDMA device.
func quietCard() (*inventory.Snapshot, *inventory.Card) {
	chip, _ := ib.ChipByPCI(0x1007)
	s := &inventory.Snapshot{Host: "intel9", BootID: "now", Cards: []inventory.Card{{
		Chip: chip,
		PCI:  ib.MustParsePCIAddress("0000:01:00.0"), VendorID: ib.MellanoxVendor, DeviceID: 0x1007, Driver: "mlx4_core",
		Flash: &inventory.Flash{ImageType: "FS2",
			Firmware: ib.Firmware{PSID: card.PSIDEN, FW: ib.MustParseFWVersion("2.40.5032")}},
	}}}
	return s, &s.Cards[0]
}

func lookAt(t *testing.T, s *inventory.Snapshot) *Look {
	t.Helper()
	l, err := LookAt(s, s.Cards[0].PCI)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLook_running_firmware_without_RDMA_device(t *testing.T) {
	older := ib.MustParseFWVersion("2.36.5000")
	burn := inventory.Job{PCI: ib.MustParsePCIAddress("0000:01:00.0"), Kind: journal.Burn, BootID: "now"}
	for _, c := range []struct {
		name           string
		change         func(*inventory.Snapshot, *inventory.Card)
		known, assumed bool
		version        string
	}{
		{"no other version shows", func(*inventory.Snapshot, *inventory.Card) {}, true, true, "2.40.5032"},
		{"another version runs", func(_ *inventory.Snapshot, c *inventory.Card) { c.Flash.RunningFW = older }, true, false,
			"2.36.5000"},
		{"no driver", func(_ *inventory.Snapshot, c *inventory.Card) { c.Driver = "" }, false, false, "0.0.0000"},
		{"a driver that starts no firmware",
			func(_ *inventory.Snapshot, c *inventory.Card) { c.Driver = "vfio-pci" }, false, false, "0.0.0000"},
		{"no driver, and another version runs",
			func(_ *inventory.Snapshot, c *inventory.Card) {
				c.Driver, c.Flash.RunningFW = "",
					older
			}, true, false, "2.36.5000"},
		{"later chip, and another version runs", func(_ *inventory.Snapshot, c *inventory.Card) {
			c.Driver, c.Flash.ImageType, c.Flash.RunningFW = "", "FS3", older
		}, true, false, "2.36.5000"},
		{"recovery", func(_ *inventory.Snapshot, c *inventory.Card) { c.Livefish = true }, false, false, "0.0.0000"},
		{"written since the start", func(s *inventory.Snapshot, _ *inventory.Card) { s.Jobs = []inventory.Job{burn} }, false,
			false, "0.0.0000"},
		{"written before the start", func(s *inventory.Snapshot, _ *inventory.Card) {
			s.Jobs = []inventory.Job{burn}
			s.BootID = "later"
		}, true, true, "2.40.5032"},
		{"written since the start with another version", func(s *inventory.Snapshot, c *inventory.Card) {
			s.Jobs, c.Flash.RunningFW = []inventory.Job{burn}, older
		}, true, false, "2.36.5000"},
		{"the driver shows it", func(_ *inventory.Snapshot, c *inventory.Card) {
			c.RunningPSID, c.RunningFW = card.PSIDVPI, "2.42.5000"
		}, true, false, "2.42.5000"},
	} {
		s, hw := quietCard()
		c.change(s, hw)
		f := lookAt(t, s).Facts
		running := f.Running.Or(ib.Firmware{})
		if f.Running.Known() != c.known || f.RunningAssumed != c.assumed || running.FW.String() != c.version {
			t.Errorf("%s: %+v, assumed %t", c.name, f.Running, f.RunningAssumed)
		}
		switch {
		case c.assumed && running.PSID != card.PSIDEN,
			!hw.Flash.RunningFW.IsZero() && running.PSID != "": // the tool shows a version and no PSID
			t.Errorf("%s: PSID %q", c.name, running.PSID)
		}
	}
}

// TestLook_staged_without_a_driver holds that an image that a job of this boot has
// burned is known not to have run, also where no driver shows what runs.
func TestLook_staged_without_a_driver(t *testing.T) {
	burn := inventory.Job{
		ID: "J", PCI: ib.MustParsePCIAddress("0000:01:00.0"), Kind: journal.Burn, BootID: "now", Exit: "0",
		Request: map[string]string{"to_psid": card.PSIDEN, "to_fw": "2.40.5032"},
	}
	for name, want := range map[string]string{"": "J", "failed": "", "another image": "", "before the start": ""} {
		s, hw := quietCard()
		hw.Driver = ""
		j := burn
		switch name {
		case "failed":
			j.Exit = "1"
		case "another image":
			j.Request = map[string]string{"to_psid": card.PSIDVPI, "to_fw": "2.42.5000"}
		case "before the start":
			j.BootID = "old"
		}
		s.Jobs = []inventory.Job{j}
		if f := lookAt(t, s).Facts; f.StagedBy != want || f.Running.Known() {
			t.Errorf("%s: staged by %q, want %q", name, f.StagedBy, want)
		}
	}
}

// TestLook_started_without_a_driver holds that an image that the last job burned in an
// earlier start of the host is known to have been loaded since.
func TestLook_started_without_a_driver(t *testing.T) {
	const who = "serial number MT1234X00001, part number MCX314A-BCCT, chip ConnectX-3 Pro"
	for name, want := range map[string]string{
		"before the start": "J", "failed": "", "another image": "", "another card": "", "card not named": "",
		"burned over since": "", "since the start": "", "and again since the start": "",
	} {
		s, hw := quietCard()
		hw.Driver, hw.Serial = "", fact.Known("MT1234X00001")
		j := inventory.Job{
			ID: "J", PCI: hw.PCI, Kind: journal.Burn, BootID: "old", Exit: "0",
			Request: map[string]string{"to_psid": card.PSIDEN, "to_fw": "2.40.5032", "card_identity": who},
		}
		over := j
		over.ID, over.Request = "K", map[string]string{"to_psid": card.PSIDVPI, "to_fw": "2.42.5000", "card_identity": who}
		s.Jobs = []inventory.Job{over, j}
		switch name {
		case "failed":
			s.Jobs[1].Exit = "1"
		case "another image":
			hw.Flash.FW = ib.MustParseFWVersion("2.42.5000")
		case "another card":
			hw.Serial = fact.Known("MT1234X00002")
		case "card not named":
			s.Jobs[1].Request = map[string]string{"to_psid": card.PSIDEN, "to_fw": "2.40.5032"}
		case "burned over since":
			s.Jobs = []inventory.Job{j, over}
		case "since the start":
			s.Jobs[1].BootID = s.BootID
		case "and again since the start":
			over.BootID = s.BootID
			s.Jobs = append(s.Jobs, over)
		}
		if f := lookAt(t, s).Facts; f.StartedWith != want || f.Running.Known() {
			t.Errorf("%s: started with the image of job %q, want %q", name, f.StartedWith, want)
		}
	}
}

// Node GUIDs in flash are our own only if a job of this start of the host wrote these.
func TestLook_who_wrote_the_GUIDs(t *testing.T) {
	const node, other = 0xe41d2d0300e44ed0, 0xe41d2d0300770000
	for name, tt := range map[string]struct {
		kind, boot string
		wrote      ib.GUID
		ours       bool
	}{
		"our job of this start":    {journal.GUIDs, "now", node, true},
		"of an earlier start":      {journal.GUIDs, "before", node, false},
		"changed by somebody else": {journal.GUIDs, "now", other, false},
		"a burn, which keeps them": {journal.Burn, "now", node, false},
	} {
		s, c := quietCard()
		c.Flash.GUIDs.Node = node
		set := ib.GUIDSet{Node: tt.wrote, Port1: 1, Port2: 2, SystemImage: 3}
		s.Jobs = []inventory.Job{{ID: "J", PCI: c.PCI, Kind: tt.kind, BootID: tt.boot,
			Request: map[string]string{"to_guids": set.Words(), "to_macs": "0002c9000001 0002c9000002"}}}
		if by := lookAt(t, s).Facts.GUIDsBy; (by == "J") != tt.ours {
			t.Errorf("%s: by %q", name, by)
		}
	}
}
