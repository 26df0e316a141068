package safety

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

const (
	psidEN  = "MT_9200111023"
	psidVPI = "MT_9090111019"
)

var (
	here  = ib.MustParsePCIAddress("0000:01:00.0")
	there = ib.MustParsePCIAddress("0000:41:00.0")
	fw236 = ib.MustParseFWVersion("2.36.5000")
	fw242 = ib.MustParseFWVersion("2.42.5000")
)

func guidSet(base ib.GUID, mac ib.MAC) ib.GUIDSet {
	return ib.GUIDSet{Node: base, Port1: base + 1, Port2: base + 2, SystemImage: base + 3, MAC1: mac, MAC2: mac + 1}
}

func goodCard() CardFacts {
	chip, _ := ib.ChipByPCI(0x1007)
	who := ib.Identity{Serial: "MT1234X00001", Part: "MCX314A-BCCT", Chip: chip.Name}
	return CardFacts{
		Identity: IdentityFacts{Recorded: who, Now: who}, Host: "intel9", HWID: fact.Known(ib.HWID{ID: 0x1f7}),
		Failsafe: FailsafeYes, Checksum: "aa", Verified: VerifyGood, Running: fact.Known(ib.Firmware{PSID: psidVPI,
			FW: fw236}),
		Card: inventory.Card{
			PCI: here, VendorID: ib.MellanoxVendor, DeviceID: 0x1007, Chip: chip, Driver: "mlx4_core",
			Ports: []inventory.Port{{Number: 1}, {Number: 2}},
			Flash: &inventory.Flash{
				ImageType: "FS2", Firmware: ib.Firmware{PSID: psidVPI, FW: fw236}, GUIDs: guidSet(0xe41d2d0300e44ed0,
					0xe41d2de44ed0), ProductVersion: "02.36.50.00",
			},
		},
	}
}

func goodImage() ImageFacts {
	return ImageFacts{
		Name: "vpi.bin", SHA256: "00ff", Format: "FS2", Failsafe: true, Firmware: ib.Firmware{PSID: psidVPI, FW: fw242},
		HWIDs: []ib.HWID{{ID: 0x1f7}}, Product: "02.42.50.00", Checksum: "bb", Size: 1 << 20,
	}
}

// branches are versions of one line in two branches.
func branches(in *FirmwareInput) {
	in.Card.Flash.FW, in.Image.FW = ib.MustParseFWVersion("2.1100.6630"), ib.MustParseFWVersion("2.1202.1000")
	runsVersion(&in.Card, in.Card.Flash.FW)
}

// goodHost has the card's two interfaces, one of another card, a bond over both, and
// a session that takes none of them.
func goodHost() HostFacts {
	return HostFacts{
		RebootAllowed: true, BackupDir: "/backups", Snapshot: goodSnapshot(),
		Support: Support{Mstflint: "Install the package: apt install mstflint."},
	}
}

func goodSnapshot() inventory.Snapshot {
	return inventory.Snapshot{
		Host: "intel9", Lockdown: fact.Known("none"), StateFree: fact.Known[int64](1 << 30),
		MSTFlint: inventory.Tool{Present: true, Version: "4.21.0"},
		Users:    fact.Known[[]inventory.CardUser](nil), Servers: fact.Known[[]inventory.Server](nil),
		Scans:    fact.Known[[]inventory.Pool](nil),
		Commands: map[string]bool{"systemd-run": true, "systemd-inhibit": true, "flock": true, "sha256sum": true},
		Battery:  fact.Known[[]inventory.UPS](nil), Units: map[string]inventory.Unit{},
		Cards: managedOn(),
		Netdevs: []inventory.Netdev{
			{Name: "eno1"}, {Name: "enp1s0", PCI: here}, {Name: "enp1s0d1", PCI: here}, {Name: "enp65s0", PCI: there},
			{Name: "bond0", Lower: []string{"enp1s0", "enp65s0"}}, {Name: "bond0.7", Lower: []string{"bond0"}},
		},
		SSH:    inventory.SSHPath{Devs: fact.Known([]string{"eno1"})},
		Routes: inventory.Routes{Default: []inventory.DefaultRoute{{Dev: "eno1"}}},
	}
}

// managedOn is the card of a host with subnet managers on some ports.
func managedOn(ports ...int) []inventory.Card {
	c := inventory.Card{PCI: here}
	for n := 1; n <= 2; n++ {
		c.Ports = append(c.Ports, inventory.Port{Number: n, IsSM: fact.Known(slices.Contains(ports, n))})
	}
	return []inventory.Card{c}
}

// beside are the cards of a host with another one of the same driver, whose ports
// have these types.
func beside(types ...string) []inventory.Card {
	other := inventory.Card{PCI: there}
	other.Chip, _ = ib.ChipByPCI(0x1007)
	for i, t := range types {
		other.Ports = append(other.Ports, inventory.Port{Number: i + 1, TypeNow: t, IsSM: fact.Known(false)})
	}
	return append(managedOn(), other)
}

// burnAt is somebody else's burn.
func burnAt(pci ib.PCIAddress) inventory.CardUser {
	return inventory.CardUser{Card: pci, Command: "mstflint -d " + pci.String() + " b", PID: 4711, Name: "root"}
}

func tank(over fact.Of[string]) inventory.Storage {
	return inventory.Storage{Kind: "nfs4", What: "nas:/tank", Where: "/mnt", Dev: over}
}

// journal is a job of this release.
func journal(id string, pci ib.PCIAddress, running bool) inventory.Job {
	return inventory.Job{
		ID: id, Kind: "burn", PCI: pci, Running: fact.Known(running), Operator: "bob",
		Request: map[string]string{"version": inventory.JournalVersion},
		States:  []inventory.JobState{{Name: "started", Time: "now"}},
	}
}

func goodFirmware() FirmwareInput {
	return FirmwareInput{Card: goodCard(), Image: goodImage(), Host: goodHost(),
		Request: FirmwareRequest{Activation: ActivationReboot}}
}

func goodBackup() *BackupFacts {
	c := goodCard()
	return &BackupFacts{Path: "/backups/x", SHA256: "11", TwoReadsEqual: true, ToolVerified: true, Parsed: true,
		Firmware: c.Flash.Firmware, GUIDs: c.Flash.GUIDs}
}

func goodGUIDs() GUIDInput {
	in := GUIDInput{
		Card: goodCard(), Host: goodHost(), Lab: goodLab(),
		Request: GUIDRequest{Want: guidSet(0xe41d2d0300e44ee0, 0xe41d2de44ee0), HasGUIDs: true, HasMACs: true,
			Activation: ActivationReboot},
	}
	in.Request.Change = in.replaced()
	return in
}

// goodLab is a fabric with nobody else in it.
func goodLab() clash.Facts { return clash.Facts{Fabric: fact.Known[[]clash.Node](nil)} }

func goodLink() LinkTypeInput {
	return LinkTypeInput{
		Card: goodCard(), Host: goodHost(),
		Request: LinkTypeRequest{Ports: map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}},
		Current: map[int]string{1: "eth",
			2: "eth"}, Served: fact.Known(true), HasTypes: fact.Known(true), StoredIn: "mstconfig",
		StaleInitramfs: fact.Known(false), Overrides: fact.Known[[]string](nil),
	}
}

// expectFinding checks that a code is there with its severity, evidence and
// all that a rule promises.
func expectFinding(t *testing.T, found []finding.Finding, code string, severity finding.Severity) finding.Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Rule.Code == code && f.Severity == severity })
	if i < 0 {
		t.Fatalf("no finding %s (%s); found %+v", code, severity, found)
	}
	f := found[i]
	if f.Evidence == "" || f.Summary == "" {
		t.Errorf("%s has no evidence or no summary: %+v", code, f)
	}
	if severity.Blocks() && f.WayOut == "" {
		t.Errorf("%s blocks and shows no way out", code)
	}
	if strings.Contains(f.Detail(), "<pci address>") {
		t.Errorf("%s shows a placeholder: %s", code, f.WayOut)
	}
	if f.Rule.Consent != "" && severity == finding.NeedsConsent && f.Consent == "" {
		t.Errorf("%s needs consent and does not say which line to add", code)
	}
	return f
}

func runsPSID(c *CardFacts, p ib.PSID) {
	c.Running = fact.Known(ib.Firmware{PSID: p, FW: c.Running.Or(ib.Firmware{}).FW})
}

func runsVersion(c *CardFacts, v ib.FWVersion) {
	c.Running = fact.Known(ib.Firmware{PSID: c.Running.Or(ib.Firmware{}).PSID, FW: v})
}

// driverless makes it a card of which nothing shows what it runs.
func driverless(c *CardFacts) { c.Running, c.Driver = fact.Unknown[ib.Firmware](notRead), "" }
