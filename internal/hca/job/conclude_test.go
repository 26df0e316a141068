package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// labelled is a host that only has a name.
type labelled struct{ cards.Host }

func (labelled) Name() string { return "intel9" }

// A connection that is lost after the tool has ended says nothing against the card.
func TestUnread_does_not_call_the_burn_a_failure(t *testing.T) {
	j := New(&cards.Session{}, cards.Card{Host: labelled{}}, journal.Entry{ID: "7"})
	lost := j.unread(outcome{}, fmt.Errorf("read: %w", &host.UnreachableError{Op: host.OpRun, Err: errors.New("EOF")}))
	other := j.unread(outcome{}, errors.New("mstflint: -E- Cannot open"))
	var e *cards.Error
	if !errors.As(lost, &e) || !strings.HasPrefix(e.Title(), "Unable to say yet how the write to card intel9/") ||
		!strings.Contains(e.Means, "Do not switch the host off") ||
		!strings.Contains(e.Check, "Run the same command again") || strings.Contains(e.Means, "old firmware") {
		t.Errorf("a lost connection: %+v", e)
	}
	if !errors.As(other, &e) || e.Title() != "" {
		t.Errorf("a tool that fails: %+v", e)
	}
}

// TestFailed_names_the_file holds that the command of the runbook reads the copy of the host it
// is typed on. Only the journal of an earlier version lacks its name.
func TestFailed_names_the_file(t *testing.T) {
	t.Parallel()
	const file = "/var/lib/terraform-provider-infiniband/backups/"
	for sum, says := range map[string][]string{
		"c0ffee": {"as root", "-i " + file + "c0ffee.bin b", "copy firmware.bin from /backups/7 "},
		"":       {"-i " + file + "FIRMWARE_SHA256.bin b", "firmware_sha256 of card.json in /backups/7 "},
	} {
		j := New(&cards.Session{}, cards.Card{Host: labelled{}}, journal.Entry{ID: "7", Backup: "/backups/7",
			BackupSHA256: sum})
		var gone *cards.Error
		if err := j.vanishedError(outcome{}); !errors.As(err, &gone) {
			t.Fatal(err)
		}
		for _, text := range []string{j.writeError(outcome{}, "It failed.").Explain(), gone.Explain()} {
			for _, want := range says {
				if !strings.Contains(text, want) || strings.Contains(text, "<") {
					t.Errorf("%q: lacks %q:\n%s", sum, want, text)
				}
			}
		}
	}
}

// TestRefused_names_its_rule holds that what a job refuses on the host is a finding
// of the catalogue, with the reason that the job left.
func TestRefused_names_its_rule(t *testing.T) {
	t.Parallel()
	held := map[string]string{"job": "j7", "pci": "0000:02:00.0", "operator": "bob", "since": "2026-01-02T03:04:05Z"}
	for name, tt := range map[string]struct {
		out  outcome
		rule *finding.Rule
		says string
	}{
		"another card": {outcome{Exit: exitOther, Reason: "serial number MT2"}, finding.CardExchanged,
			"than the one it was for: serial number MT2."},
		"another program": {outcome{Exit: exitInUse}, finding.CardInUse, "it left no reason"},
		"another job": {outcome{Exit: exitLocked, Held: held}, finding.FlashJobRunning,
			"j7 of card 0000:02:00.0, started by bob, since 2026-01-02T03:04:05Z"},
		"no name":         {outcome{Exit: exitLocked}, nil, ""},
		"the second gate": {outcome{Exit: exitGate, Reason: "another PSID"}, nil, ""},
	} {
		tt.out.Ended = true
		j := New(&cards.Session{}, cards.Card{Host: labelled{}}, journal.Entry{ID: "j9"})
		err := j.refusalError(tt.out)
		var refused *safety.RefusedError
		switch {
		case tt.rule == nil:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.As(err, &refused) || refused.What != "write the flash of card "+j.c.ID() ||
			refused.Findings[0].Rule != tt.rule ||
			!strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), journal.Dir("j9")):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// GUIDs are only written back to a flash that a second burn can harm in no moment.
func TestLostIdentity_needs_a_flash_that_is_whole(t *testing.T) {
	t.Parallel()
	lost := func(verified safety.VerifyState, layout safety.FailsafeState) bool {
		want := journal.Entry{Kind: journal.Burn, GUIDsAfter: ib.GUIDSet{Node: 0xe41d2d0300e44ed0}}
		facts := safety.CardFacts{Card: inventory.Card{Flash: &inventory.Flash{ImageType: "FS2"}},
			Verified: verified, Failsafe: layout}
		return result{request: request{want: want}, CardFacts: facts}.lostIdentity()
	}
	if !lost(safety.VerifyGood, safety.FailsafeYes) || !lost(safety.VerifyBlank, safety.FailsafeYes) {
		t.Error("a flash that is whole is not mended")
	}
	for name, bad := range map[string]bool{
		"damaged":      lost(safety.VerifyBad, safety.FailsafeYes),
		"not verified": lost(safety.VerifyUnknown, safety.FailsafeYes),
		"not failsafe": lost(safety.VerifyGood, safety.FailsafeNo),
		"no layout":    lost(safety.VerifyGood, safety.FailsafeUnknown),
	} {
		if bad {
			t.Errorf("%s: the flash is written once more", name)
		}
	}
}

// After a power cut a host has another boot: no text says then that it was not restarted.
func TestRequest_hostText(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ began, now, want string }{
		{"a", "a", "The host was not restarted."},
		{"a", "b", "The host has started anew since the job began"},
		{"a", "", "has not asked for a restart"}, {"", "b", "has not asked for a restart"},
	} {
		r := request{want: journal.Entry{BootID: x.began}}
		got := r.hostText(outcome{bootID: x.now})
		if !strings.Contains(got, x.want) || (x.began != x.now) == strings.Contains(got, "was not restarted") {
			t.Errorf("%q, then %q: %s", x.began, x.now, got)
		}
	}
}
