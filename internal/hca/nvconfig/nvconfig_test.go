package nvconfig

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
)

// lookOf is a look at settings of "default current next".
func lookOf(rows map[string]string) Look {
	all := map[string]inventory.CardSetting{}
	for name, text := range rows {
		f := append(strings.Fields(text), "", "", "")
		value := inventory.ParseSettingValue
		all[name] = inventory.CardSetting{Default: value(f[0]), Current: value(f[1]), Next: value(f[2])}
		if len(f) == 4 { // only the next boot is shown
			all[name] = inventory.CardSetting{Next: value(f[0])}
		}
	}
	return Look{Rows: fact.Known(all)}
}

func TestLook_saysWhatIsMissing(t *testing.T) {
	l := lookOf(map[string]string{"SRIOV_EN": "False(0) False(0) True(1)", "NUM_OF_VFS": "8 8 8", "BOOT_PKEY": "0 1 0",
		"LINK_TYPE_P1": "IB(1) IB(1) ETH(2)", "LEGACY_BOOT_PROTOCOL": "PXE(1) PXE(1) NONE(0)", "OLD": "3"})
	for name, tt := range map[string]struct {
		ask                    map[string]string
		open                   []string
		restarts, waits, known bool
	}{
		"stored":           {ask: map[string]string{"SRIOV_EN": "1"}, restarts: true, waits: true, known: true},
		"in effect":        {ask: map[string]string{"NUM_OF_VFS": "8"}, known: true},
		"to be stored":     {ask: map[string]string{"NUM_OF_VFS": "9"}, open: []string{"NUM_OF_VFS"}, restarts: true, known: true},
		"back to what is":  {ask: map[string]string{"BOOT_PKEY": "1"}, open: []string{"BOOT_PKEY"}, waits: true, known: true},
		"next only":        {ask: map[string]string{"OLD": "3"}},
		"next only, other": {ask: map[string]string{"OLD": "4"}, open: []string{"OLD"}, restarts: true},
		"one of two known": {ask: map[string]string{"OLD": "3", "SRIOV_EN": "true"}, restarts: true, waits: true, known: true},
	} {
		q := Request{Settings: tt.ask}
		waits, known := l.AwaitsRestart(q)
		if got := l.open(q); !slices.Equal(got, tt.open) || l.Restarts(q) != tt.restarts || waits != tt.waits || known != tt.known {
			t.Errorf("%s: open %v, restarts %v, waits %v, known %v", name, got, l.Restarts(q), waits, known)
		}
	}
	want := map[string]string{"SRIOV_EN": "true", "LEGACY_BOOT_PROTOCOL": "NONE"}
	if got := l.Changed(); !maps.Equal(got, want) {
		t.Errorf("what differs from the defaults: %v", got)
	}
	silent := Look{Rows: fact.Unknown[map[string]inventory.CardSetting]("busy")}
	if q := (Request{Settings: want}); len(silent.open(q)) > 0 || silent.Restarts(q) || len(silent.Changed()) > 0 {
		t.Error("a card that does not answer has something to do")
	}
}

func TestNear(t *testing.T) {
	rows := lookOf(map[string]string{"SRIOV_EN": "1", "NUM_OF_VFS": "1", "NUM_OF_PF": "1", "KEEP_IB_LINK_UP_P1": "1",
		"KEEP_IB_LINK_UP_P2": "1", "EXP_ROM_PXE_ENABLE": "1", "EXP_ROM_UEFI_x86_ENABLE": "1", "ATS_ENABLED": "1"}).Rows.Or(nil)
	for name, want := range map[string][]string{
		"SRIOV_ENABLE":        {"SRIOV_EN"},
		"SROIV_EN":            {"SRIOV_EN"},
		"NUM_OF_VF":           {"NUM_OF_PF", "NUM_OF_VFS"},
		"KEEP_IB_LINK_UP":     {"KEEP_IB_LINK_UP_P1", "KEEP_IB_LINK_UP_P2"},
		"UEFI_ENABLE_ROM":     {"EXP_ROM_UEFI_x86_ENABLE"},
		"COMPLETELY_ELSEWISE": nil,
	} {
		got := near(name, rows)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The scripts keep the first value of before and the last one that was set, and nothing of another card.
func TestScripts_keepTheValuesOfBefore(t *testing.T) {
	for _, sh := range []string{"sh", "dash", "bash"} {
		if _, err := exec.LookPath(sh); err != nil {
			continue
		}
		dir := t.TempDir()
		run := func(text string, args ...string) string {
			t.Helper()
			out, err := exec.CommandContext(t.Context(), sh, append([]string{"-c", text, "sh", dir}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v: %s", sh, err, out)
			}
			return string(out)
		}
		run(saveScript, "card 1", "boot-1", "SRIOV_EN", "0", "true", "NUM_OF_VFS", "8", "16")
		run(saveScript, "card 1", "boot-2", "NUM_OF_VFS", "16", "32")
		run(saveScript, "card 2", powerCycle, "NUM_OF_VFS", "4", "5")
		shown := answer.Functions + savedScript
		if got := run(shown, "card 1"); got != "@begin 1\n=NUM_OF_VFS\t8 32 boot-2\n=SRIOV_EN\t0 true boot-1\n@end\n" {
			t.Errorf("%s: kept is\n%s", sh, got)
		}
		run(forgetScript, "card 1")
		if got := run(shown, "card 1"); got != "@begin 1\n@end\n" {
			t.Errorf("%s: after it was forgotten\n%s", sh, got)
		}
		if got := run(shown, "card 2"); got != "@begin 1\n=NUM_OF_VFS\t4 5 power-cycle\n@end\n" {
			t.Errorf("%s: of the other card\n%s", sh, got)
		}
	}
}
