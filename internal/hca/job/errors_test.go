package job

import (
	"errors"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// TestWriteError_after_another_boot holds that no error says of a card that it runs its old
// firmware if it has started since, or if that is not known.
func TestWriteError_after_another_boot(t *testing.T) {
	t.Parallel()
	const (
		memory   = "the card still runs its old firmware from memory"
		inTime   = "burn the backup while the card still runs, on the host, as root"
		stay     = "Do not restart the host"
		anew     = "The host has started anew since the job began. A card starts from its flash then."
		recovery = "If the card shows its recovery id, this command fails. Plan again: the plan has the steps (FW041)."
	)
	for name, tt := range map[string]struct {
		began, now string
		says, not  []string
	}{
		"the same boot":  {"a", "a", []string{memory, inTime, stay}, []string{anew, recovery}},
		"another boot":   {"a", "b", []string{anew, recovery}, []string{memory, "still runs", stay}},
		"not known now":  {"a", "", []string{stay}, []string{memory, "still runs", anew, recovery}},
		"not known then": {"", "b", []string{stay}, []string{memory, "still runs", anew, recovery}},
	} {
		out := outcome{bootID: tt.now, States: []inventory.JobState{{Name: "burning"}}}
		j := New(&cards.Session{}, cards.Card{Host: labelled{}}, journal.Entry{ID: "7", BootID: tt.began, Kind: journal.Burn,
			Before: old, After: fresh, GUIDsAfter: own})
		damaged := result{request: j.request}
		damaged.Flash, damaged.Verified = &inventory.Flash{ImageType: "FS2", Firmware: fresh, GUIDs: own}, safety.VerifyBad
		held, _ := damaged.notHeld(out, damaged.mismatches())
		var unread *cards.Error
		if !errors.As(j.unread(out, errors.New("mstflint: -E- Cannot open")), &unread) {
			t.Fatal("no error")
		}
		unread.Check = j.writeError(out, "").Check // it has steps of its own
		for which, e := range map[string]*cards.Error{"failed": j.writeError(out, "It failed."),
			"not whole": damaged.notWhole(out), "not held": held, "not read": unread} {
			for _, want := range tt.says {
				if !strings.Contains(e.Means+"\n"+e.Check, want) {
					t.Errorf("%s, %s: lacks %q:\n%s\n%s", name, which, want, e.Means, e.Check)
				}
			}
			for _, bad := range tt.not {
				if strings.Contains(e.Means+"\n"+e.Check, bad) {
					t.Errorf("%s, %s: says %q:\n%s\n%s", name, which, bad, e.Means, e.Check)
				}
			}
		}
		var gone *cards.Error
		if !errors.As(j.vanishedError(out), &gone) || strings.Contains(gone.Check, recovery) != (name == "another boot") {
			t.Errorf("%s: %s", name, gone.Check)
		}
	}
}
