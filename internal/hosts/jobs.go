package hosts

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// readJobs reads the job directories. Their names begin with the time, so a sorted
// listing has the oldest first.
func readJobs(s *inventory.Snapshot, a *collect.Answer) error {
	for _, listed := range a.Jobs {
		dir := inventory.StateDir + "/jobs/" + listed.ID + "/"
		job := inventory.Job{ID: listed.ID, Settled: listed.Settled}
		for _, name := range []string{"request", "states", "exit"} {
			job.TakeFile(name, a.Files[dir+name])
		}
		if pci, ok := inventory.JobCard(listed.ID); ok && !job.PCI.IsValid() {
			job.PCI = pci // a power cut may leave the request empty
		}
		job.LogTail = a.Runs["log "+listed.ID].Output
		job.Running = mayStillRun(s, a, listed, job.Exit != "")
		s.Jobs = append(s.Jobs, job)
	}
	s.Owed = strings.TrimSpace(a.Files[inventory.OwedNote])
	for _, file := range slices.Sorted(maps.Keys(a.Files)) {
		if dir, id := path.Split(file); dir == inventory.StopDir+"/" {
			s.Stops = append(s.Stops, inventory.ParseStop(id, a.Files[file]))
		}
	}
	lostJobs(s)
	s.NotePastFirmware()
	return nil
}

// mayStillRun reports whether a job may still write. A silent systemd or a missing unit
// does not prove that it has ended: its mstflint may still run.
func mayStillRun(s *inventory.Snapshot, a *collect.Answer, listed collect.Job, ended bool) fact.Bool {
	run, asked := a.Runs["systemctl"]
	switch {
	case ended:
		return fact.Known(false)
	case s.Units[inventory.JobUnit(listed.ID)].Active() || len(listed.PIDs) > 0:
		return fact.Known(true) // also of one that somebody settled by hand
	case listed.Settled:
		return fact.Known(false)
	case asked && run.Status != 0:
		return fact.Unknown[bool](fmt.Sprintf("systemctl ended with status %d: %s", run.Status, firstLine(run.Output)))
	case s.UnitsWhy != "":
		return fact.Unknown[bool](s.UnitsWhy)
	case listed.Hidden != "":
		return fact.Unknown[bool](listed.Hidden)
	}
	return fact.Known(false)
}

// lostJobs adds the jobs that run although somebody removed their directories.
func lostJobs(s *inventory.Snapshot) {
	for _, job := range inventory.LostJobs(s.Units, func(id string) bool { _, listed := s.Job(id); return listed }) {
		job.Kind = "write"
		s.Jobs = append(s.Jobs, job)
	}
}
