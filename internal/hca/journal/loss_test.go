package journal

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// TestJobs_Loss_after_a_write_back_that_failed holds that a burn stays the one that took the
// identity, whatever became of the jobs that were to write it back.
func TestJobs_Loss_after_a_write_back_that_failed(t *testing.T) {
	t.Parallel()
	own := ib.GUIDSet{Node: 0xe41d2d0300e44ed0, Port1: 0xe41d2d0300e44ed1, Port2: 0xe41d2d0300e44ed2,
		SystemImage: 0xe41d2d0300e44ed3, MAC1: 0xe41d2de44ed0, MAC2: 0xe41d2de44ed1}
	const blank = ^ib.GUID(0)
	gone := ib.GUIDSet{Node: blank, Port1: blank, Port2: blank, SystemImage: blank, MAC1: 0x0002c9000001, MAC2: 0x0002c9000002}
	ethernet := own // firmware for Ethernet only has no GUIDs
	ethernet.Node, ethernet.Port1, ethernet.Port2, ethernet.SystemImage = blank, blank, blank, blank
	filled := gone // half of it is the card's own, half is what the image brings
	filled.MAC1, filled.MAC2 = own.MAC1, own.MAC2
	another := own
	another.Node++
	who := ib.Identity{Serial: "MT1"}
	burn := func(before ib.GUIDSet) Entry { return Entry{Kind: Burn, GUIDsBefore: before, GUIDsAfter: before} }
	guids := func(after ib.GUIDSet) Entry { return Entry{Kind: GUIDs, GUIDsBefore: gone, GUIDsAfter: after} }
	for name, tt := range map[string]struct {
		jobs   []Entry
		change func([]inventory.Job)
		holds  ib.GUIDSet
		want   string // the job of the loss
	}{
		"no write-back":                  {jobs: []Entry{burn(own)}, want: "j0"},
		"it failed":                      {jobs: []Entry{burn(own), guids(own)}, want: "j0"},
		"two failed":                     {jobs: []Entry{burn(own), guids(own), guids(own)}, want: "j0"},
		"it failed, of MACs":             {jobs: []Entry{burn(ethernet), guids(filled)}, want: "j0"},
		"it worked":                      {jobs: []Entry{burn(own), guids(own)}, holds: own},
		"other GUIDs were written":       {jobs: []Entry{burn(own), guids(another)}},
		"and then it failed":             {jobs: []Entry{burn(own), guids(another), guids(own)}},
		"nothing but GUIDs was written":  {jobs: []Entry{guids(own)}},
		"a later burn found nothing":     {jobs: []Entry{burn(own), burn(gone), guids(own)}},
		"the burn is settled":            {jobs: []Entry{burn(own), guids(own)}, change: func(j []inventory.Job) { j[0].Settled = true }},
		"the write-back is settled":      {jobs: []Entry{burn(own), guids(own)}, change: func(j []inventory.Job) { j[1].Settled = true }, want: "j0"},
		"the write-back runs":            {jobs: []Entry{burn(own), guids(own)}, change: func(j []inventory.Job) { j[1].Running = fact.Known(true) }},
		"the write-back may run":         {jobs: []Entry{burn(own), guids(own)}, change: func(j []inventory.Job) { j[1].Running = fact.Unknown[bool]("x") }},
		"the write-back cannot be read":  {jobs: []Entry{burn(own), guids(own)}, change: func(j []inventory.Job) { j[1].Request["version"] = "9" }},
		"the write-back never got to it": {jobs: []Entry{burn(own), guids(another)}, change: func(j []inventory.Job) { j[1].States = nil }, want: "j0"},
	} {
		s := &inventory.Snapshot{Cards: []inventory.Card{{PCI: ib.MustParsePCIAddress("0000:01:00.0"), Serial: fact.Known("MT1")}}}
		card := &s.Cards[0]
		card.Flash = &inventory.Flash{ImageType: "FS2", GUIDs: gone}
		if tt.holds != (ib.GUIDSet{}) {
			card.Flash.GUIDs = tt.holds
		}
		for i, e := range tt.jobs {
			e.ID, e.PCI, e.Card = "j"+string(rune('0'+i)), card.PCI, who
			s.Jobs = append(s.Jobs, stored(e))
		}
		if tt.change != nil {
			tt.change(s.Jobs)
		}
		got := ""
		jobs := JobsOf(s, card.PCI, who)
		loss := jobs.Loss(card.Flash)
		if loss != nil {
			got = loss.Job
		}
		if got != tt.want {
			t.Errorf("%s: the loss is that of job %q, not of %q", name, got, tt.want)
		}
		announced := slices.ContainsFunc(jobs.Pending().Reports(s, loss), func(r Report) bool {
			return strings.Contains(r.Announced, "Planned write: ")
		})
		if announced != (tt.want != "") {
			t.Errorf("%s: announced %t", name, announced)
		}
	}
}

// stored is a job of this request that has begun to write and does not run any more.
func stored(e Entry) inventory.Job {
	j := inventory.Job{ID: e.ID}
	j.TakeFile("request", e.Text())
	j.TakeFile("states", "1 requested T\n4 burning T\n")
	j.Running = fact.Known(false)
	return j
}
