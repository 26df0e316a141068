package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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

// TakeFile reads one file of the job's directory. A full disk or a crash may have cut it
// at any byte: of the states whole lines are read, and incomplete ones dropped.
func (j *Job) TakeFile(name, text string) {
	switch name {
	case "request":
		j.Request = Assignments(text)
		j.Kind, j.BootID, j.Operator = j.Request["kind"], j.Request["boot_id"], j.Request["operator"]
		if pci, err := ib.ParsePCIAddress(j.Request["pci"]); err == nil {
			j.PCI = pci
		}
	case "states":
		for line := range strings.Lines(text) {
			if f := strings.Fields(line); len(f) == 3 && strings.HasSuffix(line, "\n") {
				j.States = append(j.States, JobState{Name: f[1], Time: f[2]})
			}
		}
	case "exit":
		j.Exit = strings.TrimSpace(text)
	}
}

// Assignments reads lines of the form key=value, as requests and notes have them.
func Assignments(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "="); ok {
			all[key] = value
		}
	}
	return all
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

// MayRun reports whether the job runs, or is not proven to have ended.
func (j *Job) MayRun() bool { return !fact.No(j.Running) }

// MayHaveWritten reports whether a job with these states may have started its tool: the flash
// may have changed then. A job begins with a state, so a journal that has none has lost them,
// and does not say that it has not.
func MayHaveWritten(states []JobState) bool {
	return len(states) == 0 || slices.ContainsFunc(states, func(s JobState) bool { return s.Name == "burning" })
}

// Since is the time of the host at which the job began; empty if it noted none.
func (j *Job) Since() string {
	if len(j.States) == 0 {
		return ""
	}
	return j.States[0].Time
}

// JournalVersion is that of the journal's files; one of another version is named
// and left alone.
const JournalVersion = "1"

// Unreadable says why this release cannot read the journal of the job; empty if it can, or
// if there is none to read.
func (j *Job) Unreadable() string {
	switch v := j.Request["version"]; {
	case j.Lost, v == JournalVersion:
		return ""
	case v == "": // a power cut may leave a file empty
		return "its file \"request\" is empty or damaged"
	default:
		return fmt.Sprintf("its journal is of version %s, and this release reads version %s", v, JournalVersion)
	}
}

// What says what the job is: to which card it does what, who began it, and when.
func (j *Job) What() string {
	card := "an unknown card"
	if j.PCI.IsValid() {
		card = "card " + j.PCI.String()
	}
	return fmt.Sprintf("Job %s (%s of %s), started by %s at %s", j.ID, cmp.Or(j.Kind, "a write"), card,
		cmp.Or(j.Operator, "unknown"), cmp.Or(j.Since(), "an unknown time"))
}

// jobName is the name of a job: its time, the address of its card, and chance.
var jobName = regexp.MustCompile(`^\d{8}T\d{6}Z-([0-9a-f]{4})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])-[0-9a-f]+$`)

// JobCard is the address of the card in the name of a job.
func JobCard(id string) (ib.PCIAddress, bool) {
	m := jobName.FindStringSubmatch(id)
	if m == nil {
		return ib.PCIAddress{}, false
	}
	pci, err := ib.ParsePCIAddress(m[1] + ":" + m[2] + ":" + m[3] + "." + m[4])
	return pci, err == nil
}

// LostJobs are the jobs whose units run although somebody removed their directories,
// oldest first.
func LostJobs(units map[string]Unit, listed func(id string) bool) []Job {
	var lost []Job
	for _, unit := range slices.Sorted(maps.Keys(units)) {
		id, ours := strings.CutPrefix(strings.TrimSuffix(unit, ".service"), "infiniband-flash-")
		if pci, ok := JobCard(id); ok && ours && units[unit].Active() && !listed(id) {
			lost = append(lost, Job{ID: id, PCI: pci, Running: fact.Known(true), Lost: true, Request: map[string]string{}})
		}
	}
	return lost
}
