package mstconfig

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// The captures are of the real tools, with an emulated ConnectX-5.
func TestTable_Settings_ofAllLayers(t *testing.T) {
	value := inventory.ParseSettingValue
	for version, want := range map[string]map[string]inventory.CardSetting{
		"4.21": {
			"SRIOV_EN":   {Default: value("False(0)"), Current: value("False(0)"), Next: value("True(1)")},
			"NUM_OF_VFS": {Default: value("0"), Current: value("0"), Next: value("8")},
		},
		"4.31": {"SRIOV_EN": {Default: value("False(0)"), Current: value("False(0)"), Next: value("False(0)")}},
	} {
		text, err := os.ReadFile("testdata/layers/" + version + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		table, err := ParseQuery(string(text))
		if err != nil {
			t.Fatal(version, err)
		}
		got, names := table.Settings(), []string{}
		for line := range strings.Lines(string(text)) {
			row := strings.TrimPrefix(line, "*")
			if fields := strings.Fields(row); len(fields) == 4 && strings.HasPrefix(row, "    ") {
				names = append(names, fields[0])
			}
		}
		slices.Sort(names)
		if diff := cmp.Diff(names, slices.Sorted(maps.Keys(got))); diff != "" || len(names) < 40 {
			t.Errorf("%s: names (-want +got):\n%s", version, diff)
		}
		want["EXP_ROM_UEFI_x86_ENABLE"] = inventory.CardSetting{Default: value("False(0)"), Current: value("False(0)"),
			Next: value("False(0)")}
		long := value("PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED(0)")
		want["PCI_ATOMIC_MODE"] = inventory.CardSetting{Default: long, Current: long, Next: long}
		for name, row := range want {
			if diff := cmp.Diff(row, got[name]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", version, name, diff)
			}
		}
		// 4.31 marks settings as read-only, and is wrong in that.
		marked := strings.ReplaceAll(string(text), "*       LINK", "*RO     LINK")
		marked = strings.ReplaceAll(marked, "        SRIOV_EN", " RO     SRIOV_EN")
		if again, err := ParseQuery(marked); err != nil || !maps.Equal(again.Settings(), got) {
			t.Errorf("%s: with its mark: %v", version, err)
		}
	}
}

func TestSettingValue_Is(t *testing.T) {
	for _, c := range []struct {
		raw, word string
		want      bool
	}{
		{"True(1)", "true", true}, {"True(1)", "1", true}, {"True(1)", "0", false}, {"True(1)", "false", false},
		{"PXE(1)", "pxe", true}, {"PXE(1)", "PX", false}, {"8", "0x8", true}, {"8", "08", false}, {"32769", "0x8001", true},
		{"", "", false}, {"", "0", false}, {"N/A", "0", false}, {"_1(1)", "_1", true}, {"force_relax(0x1)", "1", true},
	} {
		if got := inventory.ParseSettingValue(c.raw).Is(c.word); got != c.want {
			t.Errorf("%q is %q: %v", c.raw, c.word, got)
		}
	}
}

func TestSet(t *testing.T) {
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	set, err := Set(pci, "EXP_ROM_UEFI_x86_ENABLE", "true")
	if err != nil || set.String() != "mstconfig -d 0000:01:00.0 set EXP_ROM_UEFI_x86_ENABLE=true" || !set.Changing() ||
		set.Stdin() != "y\n" {
		t.Errorf("set: %s, %v", set, err)
	}
	for _, wrong := range [][2]string{{"", "1"}, {"-y", "1"}, {"SRIOV_EN", ""}, {"SRIOV_EN", "1 NUM_OF_VFS=2"}, {"a", "1"}} {
		if _, err := Set(pci, wrong[0], wrong[1]); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
	if !NeedsPowerCycle("-I- Please power cycle machine to load new configurations.\n") ||
		NeedsPowerCycle("-I- Please reboot machine to load new configurations.\n") {
		t.Error("the tool's word on the restart was not understood")
	}
}
