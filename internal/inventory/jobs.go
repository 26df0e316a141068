package inventory

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
)

// JobUnit is the systemd unit in which a job runs.
func JobUnit(id string) string { return "infiniband-flash-" + id + ".service" }

// readJobs reads the job directories; their names begin with the time, so the
// kernel's alphabetical listing has the oldest first. A job may have been cut
// off at any byte by a full disk or a crash: what is there is taken, and a line
// without its parts is not.
func readJobs(s *Snapshot, a *collect.Answer) error {
	for _, listed := range a.Jobs {
		dir := StateDir + "/jobs/" + listed.ID + "/"
		job := Job{ID: listed.ID, Settled: listed.Settled, Request: pairs(a.Files[dir+"request"])}
		job.Kind, job.BootID, job.Operator = job.Request["kind"], job.Request["boot_id"], job.Request["operator"]
		if pci, err := ib.ParsePCIAddress(job.Request["pci"]); err == nil {
			job.PCI = pci
		}
		for _, line := range tool.Lines(a.Files[dir+"states"]) {
			if f := strings.Fields(line); len(f) == 3 {
				job.States = append(job.States, JobState{Name: f[1], Time: f[2]})
			}
		}
		job.Exit = strings.TrimSpace(a.Files[dir+"exit"])
		job.LogTail = a.Runs["log "+listed.ID].Output
		switch s.Units[JobUnit(listed.ID)].ActiveState {
		case "active", "activating", "deactivating", "reloading":
			job.Running = true
		}
		s.Jobs = append(s.Jobs, job)
	}
	return nil
}

func pairs(text string) map[string]string {
	all := map[string]string{}
	for _, line := range tool.Lines(text) {
		if key, value, ok := strings.Cut(line, "="); ok {
			all[key] = value
		}
	}
	return all
}

// State returns the last state that the job reached; empty if none.
func (j *Job) State() string {
	if len(j.States) == 0 {
		return ""
	}
	return j.States[len(j.States)-1].Name
}
