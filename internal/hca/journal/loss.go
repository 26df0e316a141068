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

// LossOf finds what the last job that wrote to a card took from it. That job must be a
// burn of this very card that nobody has settled.
func LossOf(s *inventory.Snapshot, card *inventory.Card) *Loss {
	if card.Flash == nil || card.Flash.ImageType != "FS2" {
		return nil
	}
	last := lastWriter(s, card)
	if last == nil || last.Kind != Burn || last.Settled || !fact.No(last.Running) || last.Unreadable() != "" {
		return nil
	}
	entry := Read(last)
	before := entry.GUIDsBefore
	if like, _ := ib.Compare(entry.Card, s.Identity(card)); entry.Blank || like != ib.Same ||
		!identityGone(before, card.Flash.GUIDs) {
		return nil
	}
	return &Loss{Job: last.ID, Before: before, GUIDs: ib.UniqueGUID(before.Node), MACs: ib.UniqueMAC(before.MAC1)}
}

// lastWriter is the last job that began to write to a card.
func lastWriter(s *inventory.Snapshot, card *inventory.Card) *inventory.Job {
	var last *inventory.Job
	for _, j := range JobsOf(s, card) {
		if slices.ContainsFunc(j.States, func(state inventory.JobState) bool { return state.Name == "burning" }) {
			last = j
		}
	}
	return last
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
