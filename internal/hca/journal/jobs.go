package journal

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Job is one job of a host as it is seen from one card: with its request, and whose it was.
type Job struct {
	*inventory.Job
	Entry Entry
	// Own says that it is proven to have been for the card.
	Own bool
	// Undecided says why what the card holds says nothing about the job; empty if it does.
	Undecided string
}

// Jobs are those that may have been for one card, oldest first.
type Jobs []Job

// JobsOf gives the jobs of a card: those that name it, wherever it sat, and those of its slot
// that do not name another card. Only serial numbers prove that: GUIDs and MACs are what jobs
// change.
func JobsOf(s *inventory.Snapshot, pci ib.PCIAddress, who ib.Identity) Jobs {
	var jobs Jobs
	for i := range s.Jobs {
		j := Job{Job: &s.Jobs[i], Entry: Read(&s.Jobs[i])}
		like, _ := ib.Compare(j.Entry.Card, who)
		j.Own = like == ib.Same
		j.Undecided = j.Entry.Undecided(inventory.MayHaveWritten(j.States), who)
		another := like == ib.Other && j.Entry.Card.Serial != "" && who.Serial != ""
		if j.PCI.IsValid() && (j.PCI.Slot() == pci.Slot() && !another || j.Own) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// Own gives the jobs that are proven to have been for the card.
func (jobs Jobs) Own() Jobs {
	return slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return !j.Own })
}

// copiesKept is how many copies of its former firmware a host keeps of a card, beside the oldest:
// that is what the card came with.
const copiesKept = 5

// copyName is the name of a copy. The journal is the host's, and what it says becomes a path there.
var copyName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// OldCopies are the SHA-256 of the copies that a host need not keep any more: of jobs that are
// proven to have been for the card, and of no other one. The machine of the operator has them all.
func (jobs Jobs) OldCopies(s *inventory.Snapshot) (old []string) {
	needed := map[string]bool{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		sum := Read(j).BackupSHA256
		own := slices.ContainsFunc(jobs, func(k Job) bool { return k.Job == j && k.Own && k.Settled })
		switch {
		case !copyName.MatchString(sum):
		case !own:
			needed[sum] = true
		default:
			old = append(slices.DeleteFunc(old, func(o string) bool { return o == sum }), sum)
		}
	}
	if len(old) <= copiesKept+1 {
		return nil
	}
	old = old[1 : len(old)-copiesKept]
	return slices.DeleteFunc(old, func(sum string) bool { return needed[sum] })
}

// Last gives the request of the last job of a kind; zero if there is none.
func (jobs Jobs) Last(kind string) (last Entry) {
	for _, j := range jobs {
		if j.Kind == kind {
			last = j.Entry
		}
	}
	return last
}

// Backup finds the backup that was taken before the burn that wrote this flash, and the
// firmware in it: of the last burn that succeeded with it, else of the last that tried. It
// is empty if that burn was a restore.
func (jobs Jobs) Backup(flash ib.Firmware) (dir string, before ib.Firmware) {
	var source *Job
	for i := range jobs {
		j := &jobs[i]
		if j.Kind != Burn || j.Entry.After != flash {
			continue
		}
		if source == nil || j.Exit == "0" || source.Exit != "0" {
			source = j
		}
	}
	if source == nil || source.Entry.Restore {
		return "", ib.Firmware{}
	}
	return source.Entry.Backup, source.Entry.Before
}

// LastBurn gives the last job that burned the card, if the flash still holds what it wrote; nil
// if not. now says that the card was burned since the host started, which has not loaded its
// flash since then.
func (jobs Jobs) LastBurn(bootID string, flash ib.Firmware) (by *Job, now bool) {
	for i := range jobs {
		j := &jobs[i]
		if j.Kind != Burn {
			continue
		}
		if j.BootID == bootID && !now {
			by, now = nil, true
		}
		switch {
		case j.Exit == "0" && j.Entry.After == flash && (now || j.Own):
			by = j
		case !now:
			by = nil
		}
	}
	return by, now
}

// NodeGUIDBy gives the job that wrote a node GUID since the host started; empty if none did.
func (jobs Jobs) NodeGUIDBy(bootID string, node ib.GUID) (id string) {
	for _, j := range jobs {
		if j.Kind == GUIDs && j.BootID == bootID && j.Entry.GUIDsAfter.Node == node {
			id = j.ID
		}
	}
	return id
}

// Pending gives the jobs that are not settled.
func (jobs Jobs) Pending() Jobs {
	return slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return j.Settled })
}

// Reports says of pending jobs how each stands, and what an apply writes because of it. lost is
// what the last burn took from the card, if it took anything.
func (jobs Jobs) Reports(s *inventory.Snapshot, lost *Loss) []Report {
	var out []Report
	for _, j := range jobs {
		r := ReportOf(j.Job)
		r.Undecided = j.Undecided
		if free, known := s.StateFree.Get(); known && free < FullBelow {
			r.Full = fmt.Sprintf("%s on %s (%d KiB free)", inventory.StateDir, s.Host, free/1024)
		}
		switch {
		case lost != nil && lost.Job == j.ID:
			r.Announced = lost.String()
		case !fact.No(j.Running) && j.Kind == Burn:
			r.Announced = "If the burn clears the GUIDs or MACs of the card, the apply of its infiniband_firmware resource " +
				"writes the old ones back."
		}
		out = append(out, r)
	}
	return out
}
