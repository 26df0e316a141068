package hosts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
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
		job.LogTail = a.Runs["log "+listed.ID].Output
		job.Running = mayStillRun(s, a, listed, job.Exit != "")
		s.Jobs = append(s.Jobs, job)
	}
	lostJobs(s)
	return nil
}

// mayStillRun reports whether a job may still write. A silent systemd or a missing unit
// does not prove that it has ended: its mstflint may still run.
func mayStillRun(s *inventory.Snapshot, a *collect.Answer, listed collect.Job, ended bool) fact.Bool {
	run, asked := a.Runs["systemctl"]
	switch {
	case ended:
		return fact.Known(false)
	case unitActive(s.Units[inventory.JobUnit(listed.ID)]) || len(listed.PIDs) > 0:
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

func unitActive(u inventory.Unit) bool {
	switch u.ActiveState {
	case "active", "activating", "deactivating", "reloading", "refreshing", "maintenance":
		return true
	}
	return false
}

// jobName is the name of a job: its time, the address of its card, and chance.
var jobName = regexp.MustCompile(`^\d{8}T\d{6}Z-([0-9a-f]{4})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])-[0-9a-f]+$`)

// lostJobs adds the jobs whose units run although somebody removed their directories.
func lostJobs(s *inventory.Snapshot) {
	var lost []inventory.Job
	for unit, u := range s.Units {
		id, ours := strings.CutPrefix(strings.TrimSuffix(unit, ".service"), "infiniband-flash-")
		m := jobName.FindStringSubmatch(id)
		if _, listed := s.Job(id); !ours || m == nil || listed || !unitActive(u) {
			continue
		}
		pci, err := ib.ParsePCIAddress(m[1] + ":" + m[2] + ":" + m[3] + "." + m[4])
		if err == nil {
			lost = append(lost, inventory.Job{ID: id, Kind: "write", PCI: pci, Running: fact.Known(true), Lost: true,
				Request: map[string]string{}})
		}
	}
	slices.SortFunc(lost, func(x, y inventory.Job) int { return strings.Compare(x.ID, y.ID) })
	s.Jobs = append(s.Jobs, lost...)
}
