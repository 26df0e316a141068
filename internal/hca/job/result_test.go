package job

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

var (
	old   = ib.Firmware{PSID: "MT_9200111023", FW: ib.FWVersion{Major: 2, Minor: 40, Sub: 5032}}
	fresh = ib.Firmware{PSID: "MT_9090111019", FW: ib.FWVersion{Major: 2, Minor: 42, Sub: 5000}}
	third = ib.Firmware{PSID: "MT_9090111019", FW: ib.FWVersion{Major: 2, Minor: 36, Sub: 5000}}
	own   = ib.GUIDSet{Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, MAC1: 0xe41d2de44ed0}
	other = ib.GUIDSet{Node: 0xe41d2d0300e44ee0, Port1: 0xe41d2d0300e44ee1, MAC1: 0xe41d2de44ee0}
)

// TestResult compares what a card holds after a burn with what it was to hold.
func TestResult(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		holds   ib.Firmware
		guids   ib.GUIDSet
		verify  safety.VerifyState
		blank   bool // the card had no identity before
		lost    bool
		wrong   int
		means   string // of the error, where anything is wrong
		settles string
		before  ib.Firmware // default: old
		sum     string      // that the content is to have
	}{
		"the new image":      {holds: fresh, guids: own, verify: safety.VerifyGood},
		"no identity before": {holds: fresh, verify: safety.VerifyBlank, blank: true},
		"other GUIDs": {holds: fresh, guids: other, verify: safety.VerifyGood, lost: true, wrong: 1,
			means: "may not start"},
		"the old image": {holds: old, guids: own, verify: safety.VerifyGood, wrong: 2,
			means: "the tool wrote nothing", settles: "wrote nothing"},
		"a third image": {holds: third, guids: own, verify: safety.VerifyGood, wrong: 1,
			means: "Somebody else writes this card", settles: "neither the old one nor the new one"},
		"a third image that is damaged": {holds: third, guids: own, verify: safety.VerifyBad, wrong: 2,
			means: "may not start"},
		"content unread, of another version": {holds: fresh, guids: own, verify: safety.VerifyGood, before: old, sum: "aa"},
		"content unread, of the same version": {holds: fresh, guids: own, verify: safety.VerifyGood, before: fresh, sum: "aa",
			wrong: 1, means: "Whether it is the new one is not proven"},
		"not verified": {holds: fresh, guids: own, wrong: 1, means: "may not start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.before == (ib.Firmware{}) {
				tt.before = old
			}
			want := journal.Entry{Kind: journal.Burn, Checksum: tt.sum, Before: tt.before, After: fresh, GUIDsAfter: own, Blank: tt.blank}
			r := result{request: request{cards.Card{Host: labelled{}}, want}}
			r.Flash = &inventory.Flash{ImageType: "FS2", Firmware: tt.holds, GUIDs: tt.guids}
			r.Verified, r.Failsafe = tt.verify, safety.FailsafeYes
			if r.lostIdentity() != tt.lost {
				t.Errorf("lost its identity: %t", !tt.lost)
			}
			wrong := r.mismatches()
			if len(wrong) != tt.wrong {
				t.Fatalf("wrong are %q", wrong)
			}
			if len(wrong) == 0 {
				return
			}
			e, how := r.notHeld(outcome{Ended: true}, wrong)
			if !strings.Contains(e.Means, tt.means) || (how == "") != (tt.settles == "") || !strings.Contains(how, tt.settles) {
				t.Errorf("means %q, settled %q", e.Means, how)
			}
		})
	}
}

// After a write of GUIDs that ended in between, what is asked is which of them are there.
func TestResult_says_which_identity_is_in_flash(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind  string
		holds ib.GUIDSet
		want  string
	}{
		"new GUIDs": {journal.GUIDs, other, "2.42.5000. It has the new GUIDs and MACs: " + other.Text() + "."},
		"old GUIDs": {journal.GUIDs, own, "2.42.5000. It has the GUIDs and MACs from before: " + own.Text() + "."},
		"others":    {journal.GUIDs, ib.GUIDSet{Node: 1}, "and the job left " + other.Text() + "."},
		"a burn":    {journal.Burn, other, "the version from before and after being equal."},
	} {
		want := journal.Entry{Kind: tt.kind, Before: fresh, After: fresh, GUIDsBefore: own, GUIDsAfter: other}
		r := result{request: request{cards.Card{Host: labelled{}}, want}}
		r.Flash = &inventory.Flash{ImageType: "FS2", Firmware: fresh, GUIDs: tt.holds}
		if got := r.flashText() + r.identityText(); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
