package inventory

import (
	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Job is a flash job recorded on the host.
type Job struct {
	ID       string
	PCI      ib.PCIAddress
	Kind     string            // "burn" or "guids"
	BootID   string            // boot in which it was started
	States   []JobState        // in order
	Request  map[string]string // what was asked: image sha256, from and to PSID and version, …
	Exit     string            // status of the tool; empty if it has not ended
	Running  fact.Bool         // its unit is active, or a process of it is left
	Lost     bool              // it runs, and its directory is gone
	Settled  bool              // an operator's apply has read the card afterwards and closed it
	LogTail  string            // last lines of the tool's output
	Operator string
}

// JobState is one step of a job with the host's time.
type JobState struct {
	Name string
	Time string
}

// JobUnit is the systemd unit in which a job runs.
func JobUnit(id string) string { return "infiniband-flash-" + id + ".service" }

// State returns the last state that the job reached; empty if none.
func (j *Job) State() string {
	if len(j.States) == 0 {
		return ""
	}
	return j.States[len(j.States)-1].Name
}
