package hca

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// fullBelow is how many bytes a file system may have left to be called full: a
// journal takes a few blocks.
const fullBelow = 64 << 10

// endCauses are what keeps a job from recording its end, as far as nothing shows
// which of them it was.
const endCauses = "a power cut, a reset of the host, a full disk, or a kill"

// outcome is what is known of a job after looking at it.
type outcome struct {
	id     string
	absent bool // the host has no such job
	ended  bool // its exit status is recorded
	exit   int
	unit   fact.Bool // its unit runs
	// pids are processes of the job that were seen, which is only looked for if its
	// unit does not run; hidden says why they could not be.
	pids   []string
	hidden string
	// locked says that the host's lock is taken, and holder by whom.
	locked fact.Bool
	holder map[string]string
	// seen says that the job was there at an earlier look.
	seen    bool
	settled bool
	bootID  string
	states  []inventory.JobState
	cut     bool   // the exit status was begun, and its file has no end
	full    string // the file system of the journal, if it has no space left
	reason  string
	held    map[string]string
	output  string
}

// last gives the name of the last state.
func (o outcome) last() string {
	if len(o.states) == 0 {
		return "none"
	}
	return o.states[len(o.states)-1].Name
}

// step is what is told of a job that is waited for.
func (o outcome) step() string {
	if why := o.running().Why(); why != "" {
		return o.last() + "; " + why
	}
	return o.last()
}

// wrote reports whether the tool was started, so that the flash may have
// changed.
func (o outcome) wrote() bool {
	for _, s := range o.states {
		if s.Name == "burning" {
			return true
		}
	}
	return false
}

// running reports whether the job may still change the card. That it does not is
// only known if its unit is gone, no process of it is left, and the lock is not its:
// systemd alone may be mistaken, or not answer.
func (o outcome) running() fact.Bool {
	switch {
	case o.ended:
		return fact.Known(false)
	case fact.Yes(o.unit) || len(o.pids) > 0:
		return fact.Known(true)
	case !o.unit.Known():
		return fact.Unknown[bool]("systemd does not say whether its unit runs: " + o.unit.Why())
	case o.hidden != "":
		return fact.Unknown[bool](o.hidden)
	case !o.locked.Known():
		return fact.Unknown[bool]("the lock of the host cannot be asked for: " + o.locked.Why())
	case fact.Yes(o.locked) && o.holder["job"] == "":
		return fact.Unknown[bool]("somebody holds the lock of the host who has left no name")
	}
	return fact.Known(fact.Yes(o.locked) && o.holder["job"] == o.id)
}

// over reports whether nothing more will come of the job, as far as that is proven.
func (o outcome) over() bool { return fact.No(o.running()) }

// fresh reports whether the job may be about to start.
func (o outcome) fresh() bool { return !o.ended && o.over() && (o.absent || len(o.states) <= 1) }

// known says what was seen of a job that is not known to have ended.
func (o outcome) known() string {
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
	add("its directory is gone", o.absent)
	return strings.Join(parts, "; ")
}

// look reads a job once.
func (o *Ops) look(ctx context.Context, h host.Host, id string) (outcome, error) {
	cmd := lookAtJob(id)
	r, err := h.Run(ctx, cmd)
	if err != nil {
		return outcome{}, err
	}
	out, err := parseLook(id, string(r.Stdout))
	if err != nil {
		return outcome{}, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error(), Output: string(r.Stdout)}
	}
	return out, nil
}

func parseLook(id, text string) (outcome, error) {
	out := outcome{id: id, held: map[string]string{}, holder: map[string]string{}}
	head, output, _ := strings.Cut(text, "\n\n")
	out.output = output
	seen := false
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		seen = seen || key == "unit"
		if err := out.set(key, value); err != nil {
			return out, err
		}
	}
	if !seen {
		return out, errors.New(`no line "unit" in it`)
	}
	return out, nil
}

// unitRuns reads a state of systemd.
func unitRuns(state string) fact.Bool {
	switch word, why, _ := strings.Cut(state, " "); word {
	case "active", "activating", "deactivating", "reloading", "refreshing", "maintenance":
		return fact.Known(true)
	case "inactive", "failed":
		return fact.Known(false)
	default:
		return fact.Unknown[bool](why)
	}
}

// set takes one line of the look at a job.
func (o *outcome) set(key, value string) error {
	switch key {
	case "absent":
		o.absent = true
	case "exit":
		return o.setExit(value)
	case "settled":
		o.settled = true
	case "cut":
		o.cut = true
	case "reason":
		o.reason = value
	case "state":
		_, rest, _ := strings.Cut(value, " ") // the number is the order already
		name, when, _ := strings.Cut(rest, " ")
		o.states = append(o.states, inventory.JobState{Name: name, Time: when})
	case "held":
		k, v, _ := strings.Cut(value, "=")
		o.held[k] = v
	default:
		o.setAround(key, value)
	}
	return nil
}

func (o *outcome) setExit(value string) error {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil // a full disk took its content
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("exit status %q of the job is not a number", value)
	}
	o.ended, o.exit = true, n
	return nil
}

// setAround takes what is not in the job's directory.
func (o *outcome) setAround(key, value string) {
	switch key {
	case "unit":
		o.unit = unitRuns(value)
	case "boot":
		o.bootID = value
	case "free":
		free, mount, _ := strings.Cut(value, " ")
		if n, err := strconv.Atoi(free); err == nil && n*1024 < fullBelow { // else the heading of df
			o.full = fmt.Sprintf("%s (%d KiB free)", mount, n)
		}
	case "process":
		o.pids = append(o.pids, value)
	case "hidden":
		o.hidden = value
	case "lock":
		o.locked = map[string]fact.Bool{"free": fact.Known(false), "taken": fact.Known(true)}[value]
	case "holder":
		k, v, _ := strings.Cut(value, "=")
		o.holder[k] = v
	}
}

// noteSeen remembers over several looks whether the job was there.
func (o *outcome) noteSeen(err error, seen *bool) {
	*seen = *seen || err == nil && !o.absent
	o.seen = *seen
}
