package journal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Loss is an identity that a burn took from a card and that nobody has replaced since:
// each value that was there is now empty, or is that of an image for distribution.
type Loss struct {
	Job    string
	Before ib.GUIDSet
	GUIDs  bool // which halves were there before
	MACs   bool
}

// String is the announcement in a plan.
func (l *Loss) String() string {
	var parts []string
	if l.GUIDs {
		parts = append(parts, "GUIDs "+l.Before.Words())
	}
	if l.MACs {
		parts = append(parts, fmt.Sprintf("MACs %s %s", l.Before.MAC1, l.Before.MAC2))
	}
	return "The burn cleared the GUIDs and MACs of the card, or somebody has cleared them since. Planned write: " +
		strings.Join(parts, ", ") +
		", as before the job. Only the infiniband_firmware resource of the card writes it, after a backup. If you want " +
		"other values, set them before that with an infiniband_guids resource or by hand."
}

// Loss finds what the last burn of a card took from it. Nobody has settled it, and what was
// written since was what it took: a write-back that failed leaves the loss.
func (jobs Jobs) Loss(flash *inventory.Flash) *Loss {
	if flash == nil || flash.ImageType != "FS2" {
		return nil
	}
	last := jobs.Own().lastBurnUnlessWritten()
	if last == nil || last.Settled || last.Entry.Blank || !identityGone(last.Entry.GUIDsBefore, flash.GUIDs) {
		return nil
	}
	before := last.Entry.GUIDsBefore
	return &Loss{Job: last.ID, Before: before, GUIDs: ib.UniqueGUID(before.Node), MACs: ib.UniqueMAC(before.MAC1)}
}

// lastBurnUnlessWritten is the last burn that began to write to a card, if every job that did
// so since was to write back what the burn took. None of them runs or may run.
func (jobs Jobs) lastBurnUnlessWritten() *Job {
	var since []ib.GUIDSet
	for i := range slices.Backward(jobs) {
		j := &jobs[i]
		if !slices.ContainsFunc(j.States, func(state inventory.JobState) bool { return state.Name == "burning" }) {
			continue
		}
		if !fact.No(j.Running) || j.Unreadable() != "" {
			return nil
		}
		if j.Kind == GUIDs {
			since = append(since, j.Entry.GUIDsAfter)
			continue
		}
		other := func(to ib.GUIDSet) bool { return !restoresIdentity(to, j.Entry.GUIDsBefore) }
		if j.Kind != Burn || slices.ContainsFunc(since, other) {
			return nil
		}
		return j
	}
	return nil
}

// restoresIdentity reports whether a write was to put back what was there before: a half that had
// no values of the card's own is filled with what is in flash.
func restoresIdentity(to, before ib.GUIDSet) bool {
	guids, macs := to, to
	guids.MAC1, guids.MAC2 = before.MAC1, before.MAC2
	macs.Node, macs.Port1, macs.Port2, macs.SystemImage = before.Node, before.Port1, before.Port2, before.SystemImage
	return (guids == before || !ib.UniqueGUID(before.Node)) && (macs == before || !ib.UniqueMAC(before.MAC1))
}

// identityGone reports whether a value that was there is gone and nobody has set one
// since.
func identityGone(before, now ib.GUIDSet) bool {
	gone := false
	for _, v := range [][2]ib.GUID{{before.Node, now.Node}, {before.Port1, now.Port1}, {before.Port2, now.Port2},
		{before.SystemImage, now.SystemImage}} {
		if v[0] != v[1] && ib.UniqueGUID(v[1]) {
			return false
		}
		gone = gone || v[0] != v[1] && ib.UniqueGUID(v[0])
	}
	for _, v := range [][2]ib.MAC{{before.MAC1, now.MAC1}, {before.MAC2, now.MAC2}} {
		if v[0] != v[1] && ib.UniqueMAC(v[1]) {
			return false
		}
		gone = gone || v[0] != v[1] && ib.UniqueMAC(v[0])
	}
	return gone
}
