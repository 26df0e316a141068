package safety

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
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
		Identity: IdentityFacts{Recorded: who, Now: who},
		Host:     "intel9", PCI: here, VendorID: ib.MellanoxVendor, DeviceID: 0x1007, Chip: chip, Driver: "mlx4_core", Ports: 2,
		HWID: ib.HWID{ID: 0x1f7}, HWKnown: true, FlashKnown: true, Format: "FS2", PSID: psidVPI, FW: fw236,
		GUIDs: guidSet(0xe41d2d0300e44ed0, 0xe41d2de44ed0), Product: "02.36.50.00", Failsafe: FailsafeYes,
		Checksum: "aa", Verified: VerifyGood, RunningKnown: true, RunningPSID: psidVPI, RunningFW: fw236,
	}
}

func goodImage() ImageFacts {
	return ImageFacts{
		Name: "vpi.bin", SHA256: "00ff", Format: "FS2", Failsafe: true, PSID: psidVPI, FW: fw242,
		HWIDs: []ib.HWID{{ID: 0x1f7}}, Product: "02.42.50.00", Identity: "placeholder", Checksum: "bb", Size: 1 << 20, End: 1 << 20,
	}
}

// branches are versions of one line in two branches.
func branches(in *FirmwareInput) {
	in.Card.FW, in.Image.FW = ib.MustParseFWVersion("2.1100.6630"), ib.MustParseFWVersion("2.1202.1000")
	in.Card.RunningFW = in.Card.FW
}

// session is a path of the SSH session that is known.
func session(ways ...NetPath) fact.Of[[]NetPath] { return fact.Known(ways) }

func goodHost() HostFacts {
	return HostFacts{
		Name: "intel9", Lockdown: fact.Known("none"), StateFree: fact.Known[int64](1 << 30), RebootAllowed: true,
		ToolPresent: true, ToolVersion: "4.21.0", BackupDir: "/backups",
		Support: Support{Mstflint: "Install the package: apt install mstflint.", Lspci: "Install it on the host: apt install pciutils."},
		Users:   fact.Known[[]CardUser](nil),
		Servers: fact.Known[[]Server](nil), Scans: fact.Known[[]PoolScan](nil), Battery: fact.Known[[]Battery](nil),
		Kubernetes: fact.Known[[]string](nil), SMPorts: fact.Known[[]int](nil), Missing: fact.Known[[]string](nil),
		SSH: session(NetPath{Dev: "eno1"}), DefaultRoutes: []NetPath{{Dev: "eno1"}},
	}
}

func goodFirmware() FirmwareInput {
	return FirmwareInput{Card: goodCard(), Image: goodImage(), Host: goodHost(), Request: FirmwareRequest{Activation: ActivationReboot}}
}

func goodBackup() *BackupFacts {
	c := goodCard()
	return &BackupFacts{Path: "/backups/x", SHA256: "11", TwoReadsEqual: true, ToolVerified: true, Parsed: true, PSID: c.PSID, FW: c.FW, GUIDs: c.GUIDs}
}

func goodGUIDs() GUIDInput {
	return GUIDInput{
		Card: goodCard(), Host: goodHost(), Lab: goodLab(),
		Request: GUIDRequest{Want: guidSet(0xe41d2d0300e44ee0, 0xe41d2de44ee0), HasGUIDs: true, HasMACs: true, Activation: ActivationReboot},
	}
}

// goodLab is a fabric with nobody else in it.
func goodLab() LabFacts { return LabFacts{Fabric: fact.Known[[]FabricNode](nil)} }

func goodLink() LinkTypeInput {
	return LinkTypeInput{
		Card: goodCard(), Host: goodHost(),
		Request: LinkTypeRequest{Ports: map[int]ib.LinkType{1: ib.LinkTypeIB, 2: ib.LinkTypeIB}},
		Current: map[int]string{1: "eth", 2: "eth"}, HasTypes: fact.Known(true), Rung: "mstconfig",
		Late: fact.Known(false), Overrides: fact.Known[[]string](nil),
	}
}

// expectFinding checks that a code is there with its severity, evidence and
// all that a rule promises.
func expectFinding(t *testing.T, found []Finding, code string, severity Severity) Finding {
	t.Helper()
	i := slices.IndexFunc(found, func(f Finding) bool { return f.Code == code && f.Severity == severity })
	if i < 0 {
		t.Fatalf("no finding %s (%s); found %+v", code, severity, found)
	}
	f := found[i]
	rule, ok := Lookup(code)
	if !ok {
		t.Fatalf("%s is not in the catalogue", code)
	}
	if f.Evidence == "" || f.Summary == "" {
		t.Errorf("%s has no evidence or no summary: %+v", code, f)
	}
	if severity.Blocks() && f.WayOut == "" {
		t.Errorf("%s blocks and shows no way out", code)
	}
	if strings.Contains(f.Detail(), "<pci address>") {
		t.Errorf("%s shows a placeholder: %s", code, f.WayOut)
	}
	if rule.ConsentAttribute != "" && severity == NeedsConsent && f.Consent == "" {
		t.Errorf("%s needs consent and does not say which line to add", code)
	}
	return f
}
