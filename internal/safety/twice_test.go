package safety

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func TestTwice_namesBothResources(t *testing.T) {
	t.Parallel()
	differ := []Difference{{"card_id", `"alias/0000:01:00.0"`, `"nas/0000:01:00.0"`},
		{"base_mac", `"e4:1d:2d:e4:4e:d0"`, `"e4:1d:2d:e4:4e:e0"`}}
	for _, tt := range []struct {
		name, other string
		differ      []Difference
		says        []string
		silent      string
	}{
		{"nas/0000:01:00.0", "nas/0000:01:00.0", nil,
			[]string{"Two infiniband_guids resources are for nas/0000:01:00.0.",
				"All their arguments are equal."}, "one machine"},
		{"alias/0000:01:00.0", "nas/0000:01:00.0", differ,
			[]string{"which the other one calls nas/0000:01:00.0", "Hosts alias and nas of the provider are one machine",
				`base_mac: "e4:1d:2d:e4:4e:d0" here, "e4:1d:2d:e4:4e:e0" in the other one.`, "terraform state rm"}, "are equal"},
	} {
		f := Twice("infiniband_guids", tt.name, tt.other, tt.differ)
		for _, s := range tt.says {
			if !strings.Contains(f.Detail(), s) {
				t.Errorf("does not say %q:\n%s", s, f.Detail())
			}
		}
		if strings.Contains(f.Detail(), tt.silent) || f.Severity != finding.Refuse {
			t.Errorf("%s:\n%s", f.Severity, f.Detail())
		}
	}
}

// A card that was found under two names of its host is one card. Where that is
// not known, the clash says so.
func TestLab_oneMachineUnderTwoNames(t *testing.T) {
	t.Parallel()
	own := ib.GUIDSet{Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2,
		SystemImage: 0xe41d2d0300e44ed3, MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1}
	first, second := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:02:00.0")
	req := GUIDRequest{Want: own, HasGUIDs: true, HasMACs: true, BaseGUID: own.Node}
	for _, tt := range []struct {
		name string
		pci  ib.PCIAddress
		same fact.Bool
		code string
		says string
	}{
		{"one machine", first, fact.Known(true), "HO032", "Hosts desk and nas of the provider are one machine"},
		{"another card of the machine", second, fact.Known(true), "GU006", "of nas/0000:02:00.0"},
		{"two machines", first, fact.Known(false), "GU006", "of nas/0000:01:00.0"},
		{"not known", first, fact.Unknown[bool]("there is no /etc/machine-id"), "GU006",
			"It may be the same card: whether hosts desk and nas are one machine is not known, because there is no /etc/machine-id"},
		{"not known, in another slot", second, fact.Unknown[bool]("there is no /etc/machine-id"), "GU006",
			"of nas/0000:02:00.0"},
	} {
		lab := LabFacts{
			Cards:       []CardIdentity{{Host: "desk", PCI: first, GUIDs: own}, {Host: "nas", PCI: tt.pci, GUIDs: own}},
			SameMachine: func(string, string) fact.Bool { return tt.same },
		}
		said, codes := "", map[string]bool{}
		for _, f := range GUIDValues("desk", first, req, lab) {
			said += f.Rule.Code + " " + f.Evidence + "\n"
			codes[f.Rule.Code] = true
		}
		if len(codes) != 1 || !codes[tt.code] || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %s", tt.name, said)
		}
	}
}

// The texts of findings that were misread.
func TestTexts_saidOnce(t *testing.T) {
	t.Parallel()
	in := goodFirmware()
	in.Host.Observe, in.Image.HWIDs = true, []ib.HWID{{ID: 1}}
	if v := Firmware(in); len(v.Findings) != 1 || v.Findings[0].Rule != finding.HostObserved || v.Action != ActionRefuse {
		t.Errorf("of a host that is only read: %+v", v.Findings)
	}
	in = goodFirmware()
	laterCard(&in, 0x1013)
	in.Request.Activation = ActivationNone
	for _, f := range Firmware(in).Findings {
		if f.Rule == finding.RestartNeeded &&
			(strings.Contains(f.Detail(), "ConnectX-3") || !strings.Contains(f.Detail(), "ConnectX-4")) {
			t.Errorf("of a ConnectX-4: %s", f.Detail())
		}
	}
	card := goodFirmware().Card
	card.Flash, card.FlashError = nil, "-E- Cannot open /dev/mem: Permission denied"
	if f := cardState(card); len(f) != 1 || !strings.Contains(f[0].Detail(), "Reading the flash needs root") ||
		!strings.Contains(f[0].Detail(), `become = "none"`) {
		t.Errorf("without root: %+v", f)
	}
}
