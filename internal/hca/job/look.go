package job

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/answer"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Statuses of the job script besides those of the tool.
const (
	exitGate    = 70 // the second gate refused; nothing was written
	exitPrinted = 71 // the tool ended with 0 and printed an error
	exitOther   = 73 // another card is in the slot; nothing was written
	exitLocked  = 75 // another job holds the host's lock
	exitStart   = 76 // systemd-run failed
	exitInUse   = 77 // another program uses the card; nothing was written
)

// outcome is what is known of a job after looking at it.
type outcome struct {
	ID     string
	Absent bool // the host has no such job
	Ended  bool // its exit status is recorded
	Exit   int
	unit   fact.Bool // its unit runs
	// pids are processes of the job that were seen, which is only looked for if its
	// unit does not run; hidden says why they could not be.
	pids   []string
	hidden string
	// locked says that the host's lock is taken, and holder by whom.
	locked fact.Bool
	holder map[string]string
	// Seen says that the job was there at this look or an earlier one.
	Seen    bool
	Settled bool
	bootID  string
	now     string // the host's clock at this look, as States have it
	States  []inventory.JobState
	Cut     bool   // the exit status was begun, and its file has no end
	Full    string // the file system of the journal, if it has no space left
	Reason  string
	Held    map[string]string // by whom the lock is held that the job could not get
	Output  string
}

// last gives the name of the last state.
func (o outcome) last() string {
	if len(o.States) == 0 {
		return "none"
	}
	return o.States[len(o.States)-1].Name
}

// step is what is told of a job that is waited for.
func (o outcome) step() string {
	if why := o.running().Why(); why != "" {
		return o.last() + "; " + why
	}
	return o.last()
}

// done reports whether the tool says that it has written the flash.
// The status alone is not enough: the tool of 4.21 ends with 0 after some of its errors.
func (o outcome) done() bool { return o.Ended && o.Exit == 0 && o.last() != "failed" }

// wrote reports whether the tool was started: the flash may have changed then.
func (o outcome) wrote() bool { return inventory.MayHaveWritten(o.States) }

// running reports whether the job may still change the card. It is known to have
// stopped only if its unit is gone, none of its processes is left, and it does not hold
// the lock: systemd alone may be wrong, or not answer.
func (o outcome) running() fact.Bool {
	switch {
	case o.Ended:
		return fact.Known(false)
	// A process without its unit is one that somebody has moved, or that outlived a killed shell. It writes.
	case fact.Yes(o.unit) || len(o.pids) > 0:
		return fact.Known(true)
	case !o.unit.Known():
		return fact.Unknown[bool]("systemd does not say whether its unit runs: " + o.unit.Why())
	case o.hidden != "":
		return fact.Unknown[bool](o.hidden)
	case !o.locked.Known():
		return fact.Unknown[bool]("the lock of the host cannot be asked for: " + o.locked.Why())
	// Between taking the lock and writing the name of its holder a job is in this state.
	case fact.Yes(o.locked) && o.holder["job"] == "":
		return fact.Unknown[bool]("somebody holds the lock of the host who has left no name")
	}
	return fact.Known(fact.Yes(o.locked) && o.holder["job"] == o.ID)
}

// endedWithin reports whether the last state of the job is younger than that.
func (o outcome) endedWithin(age time.Duration) bool {
	now, err := time.Parse(time.RFC3339, o.now)
	if err != nil || len(o.States) == 0 {
		return false
	}
	last, err := time.Parse(time.RFC3339, o.States[len(o.States)-1].Time)
	// Without a sign: the host's clock may have been set back since.
	return err == nil && now.Sub(last).Abs() < age
}

// over reports whether it is proven that the job has ended or stopped.
func (o outcome) over() bool { return fact.No(o.running()) }

// mayBegin reports whether the job may be about to start.
// One state is "requested", which the start itself writes.
func (o outcome) mayBegin() bool { return !o.Ended && o.over() && (o.Absent || len(o.States) <= 1) }

// evidence says what was seen of a job that is not known to have ended.
func (o outcome) evidence() string {
	var parts []string
	add := func(text string, ok bool) {
		if ok {
			parts = append(parts, text)
		}
	}
	add("its unit runs", fact.Yes(o.unit))
	add("its unit does not run", fact.No(o.unit))
	add("whether its unit runs is not known: "+o.unit.Why(), !o.unit.Known())
	add("its processes: "+strings.Join(o.pids, ", "), len(o.pids) > 0)
	add("the lock of the host is held by job "+o.holder["job"], o.holder["job"] != "")
	add("its directory is gone", o.Absent)
	return strings.Join(parts, "; ")
}

// parseLook reads the answer of the look at a job.
func parseLook(id, text string) (outcome, error) {
	out := outcome{ID: id, unit: fact.Unknown[bool]("not asked")}
	seen := false
	err := answer.Read(text, func(i answer.Item) error {
		seen = seen || i.Word == answer.Run && i.Name == "unit"
		return out.take(i)
	})
	if err == nil && !seen {
		err = errors.New("nothing of its unit in it")
	}
	return out, err
}

// unitRuns reads a state of systemd.
func unitRuns(said string) fact.Bool {
	switch said = strings.TrimSpace(said); said {
	// All in which processes of it may live (systemd 252 to 257). A word that is new is not known, never "ended".
	case "active", "activating", "deactivating", "reloading", "refreshing", "maintenance":
		return fact.Known(true)
	case "inactive", "failed":
		return fact.Known(false)
	default:
		line, _, _ := strings.Cut(said, "\n")
		return fact.Unknown[bool](cmp.Or(line, "systemctl says nothing"))
	}
}

// take takes one part of the look at a job.
func (o *outcome) take(i answer.Item) error {
	switch i.Word {
	case answer.Run:
		switch i.Name {
		case "unit":
			o.unit = unitRuns(i.Text)
		case "now":
			o.now = strings.TrimSpace(i.Text)
		default:
			o.Output = i.Text
		}
	case answer.File:
		return o.takeFile(path.Base(i.Name), i.Text)
	case answer.Value:
		o.bootID = i.Text
	case "absent":
		o.Absent = true
	case "settled":
		o.Settled = true
	case "cut":
		o.Cut = true
	default:
		o.takeAround(i)
	}
	return nil
}

func (o *outcome) takeFile(name, text string) error {
	switch name {
	case "exit":
		return o.setExit(text)
	case "states":
		var j inventory.Job
		j.TakeFile(name, text)
		o.States = j.States
	case "reason":
		o.Reason = strings.TrimSpace(text)
	case "held":
		o.Held = inventory.Assignments(text)
	case "holder":
		o.holder = inventory.Assignments(text)
	}
	return nil
}

func (o *outcome) setExit(value string) error {
	value = strings.TrimSpace(value)
	// No end is the safe reading: the card is read then.
	if value == "" {
		return nil // a full disk took its content
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("exit status %q of the job is not a number", value)
	}
	o.Ended, o.Exit = true, n
	return nil
}

// takeAround takes what is not in the job's directory.
func (o *outcome) takeAround(i answer.Item) {
	first, rest, _ := strings.Cut(i.Name, " ")
	switch i.Word {
	case "free":
		if n, err := strconv.Atoi(first); err == nil && n*1024 < journal.FullBelow { // else the heading of df
			o.Full = fmt.Sprintf("%s (%d KiB free)", rest, n)
		}
	case "process":
		o.pids = append(o.pids, rest)
	case "hidden":
		o.hidden = rest
	case "lock":
		o.locked = map[string]fact.Bool{"free": fact.Known(false), "taken": fact.Known(true)}[first]
	}
}

// endText says how a write ended that failed or was interrupted.
func (o outcome) endText() string {
	if !o.Ended {
		return o.noEnd()
	}
	// The two ways have two tools: "Error:" is devlink's, "-E-" mstflint's.
	if _, said, failed := strings.Cut(o.Output, "Error: "); failed && !strings.Contains(o.Output, "-E-") {
		said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
		return fmt.Sprintf("devlink ended with status %d: %s.", o.Exit, strings.TrimSuffix(said, "."))
	}
	return fmt.Sprintf("mstflint ended with status %d: %s.", o.Exit, o.toolFailure())
}

// advice says of a job that failed which class that is of, and what to do. What the job itself found
// before it wrote passes, if another job or program was at the card.
func (o outcome) advice() mstflint.Advice {
	switch {
	case !o.wrote() && (o.Exit == exitLocked || o.Exit == exitInUse):
		return mstflint.Advice{Class: mstflint.Passing}
	case !o.wrote() || !o.Ended:
		return mstflint.Advice{}
	}
	return mstflint.Judge(o.Exit, o.Output)
}

// classText is a sentence on the class of the failure, to be put behind others; empty if it is not known.
func (o outcome) classText() string {
	if text := o.advice().Class.Text(); text != "" {
		return " " + text
	}
	return ""
}

// noEnd says why the journal of a job that is over has no exit status.
func (o outcome) noEnd() string {
	what := "The job was interrupted while it wrote"
	if o.last() != "burning" || o.Cut {
		what = "The tool of the job had ended, and its exit status is missing in the journal"
	}
	if o.Full != "" {
		return what + ". The file system of the journal is full: " + o.Full +
			". Make room there. Before that, the result of the job cannot be recorded."
	}
	return what + ". Possible causes: " + journal.EndCauses + "."
}

// display is the output of the tool. The steps of a progress display follow each other
// with carriage returns; only the last step is kept.
func (o outcome) display() string {
	var out []string
	for line := range strings.Lines(o.Output) {
		line = strings.TrimRight(line, "\r\n")
		out = append(out, strings.TrimRight(line[strings.LastIndexByte(line, '\r')+1:], " \t"))
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func (o outcome) toolFailure() string {
	session := mstflint.ParseSession(o.Output)
	if len(session.Errors) > 0 {
		return session.Errors[len(session.Errors)-1]
	}
	d := mstflint.Diagnose(o.Exit, o.Output, "")
	return string(d.Kind)
}
