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
			// A line without its end may have half a word in it.
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

// StopDir has a mark for each burn that failed, on all hosts that its apply may change.
const StopDir = StateDir + "/stops"

// Stop is the mark of a burn that failed, or of which nobody knows how it ended. Other applies
// that meet it burn no card: equal cards tend to fail alike.
type Stop struct {
	ID        string // of the job, which is the name of the file
	Host, PCI string // of the card, as the apply that failed calls them
	Card      string // its identity, as ib.Identity.String writes it
	At        string // StopTime of the operator's clock
	Operator  string
	Root      string // changes.RootModule of the apply
	Why       string // the first line of the error
}

// StopTime is how a mark writes its time. Such texts sort by age.
const StopTime = "2006-01-02T15:04:05.000Z"

// Text is the file of the mark.
func (s Stop) Text() string {
	line := strings.NewReplacer("\n", " ", "\r", " ", "\x00", " ").Replace
	return fmt.Sprintf("host=%s\npci=%s\ncard=%s\nat=%s\noperator=%s\nroot=%s\nwhy=%s\n",
		line(s.Host), line(s.PCI), line(s.Card), line(s.At), line(s.Operator), line(s.Root), line(s.Why))
}

// ParseStop reads the file of a mark. One that a full disk has cut is a mark of an unknown card.
func ParseStop(id, text string) Stop {
	v := Assignments(text)
	return Stop{ID: id, Host: v["host"], PCI: v["pci"], Card: v["card"], At: v["at"], Operator: v["operator"],
		Root: v["root"], Why: v["why"]}
}

// Of reports whether the mark is of this card.
func (s Stop) Of(host string, pci ib.PCIAddress, who ib.Identity) bool {
	if card, err := ib.ParseIdentity(s.Card); err == nil {
		if like, _ := ib.Compare(card, who); like == ib.Same {
			return true
		}
	}
	return s.Host == host && s.PCI == pci.String()
}

// String says which card failed, when, and in whose apply.
func (s Stop) String() string {
	return fmt.Sprintf("Card %s/%s failed at %s (job %s, started by %s in %s): %s", cmp.Or(s.Host, "unknown"),
		cmp.Or(s.PCI, "unknown"), cmp.Or(s.At, "an unknown time"), s.ID, cmp.Or(s.Operator, "unknown"),
		cmp.Or(s.Root, "an unknown directory"), cmp.Or(s.Why, "no reason is noted"))
}
