package hca

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// job is one change of a flash, as it is stored on the host.
type job struct {
	id      string
	kind    string
	pci     ib.PCIAddress
	request [][2]string
	argv    []string
	answers int
}

func unitName(id string) string { return "infiniband-flash-" + id + ".service" }

func (j job) unit() string { return unitName(j.id) }

// journalVersion is that of the journal's files; one of another version is named
// and not read.
const journalVersion = "1"

// foreign gives the version of a journal that this release does not read.
func foreign(j *inventory.Job) string {
	if j.Lost {
		return "" // there is no journal to read
	}
	switch v := j.Request["version"]; v {
	case journalVersion:
		return ""
	case "":
		return "(none)"
	default:
		return v
	}
}

const jobTime = "20060102T150405Z"

// jobStamp is the time for a job's name, later than that of every job of the
// host: names sort by age, also after a clock was set back, here or on the machine
// of another operator.
func jobStamp(now time.Time, s *inventory.Snapshot) string {
	now = now.UTC().Truncate(time.Second)
	for i := range s.Jobs {
		head, _, _ := strings.Cut(s.Jobs[i].ID, "-")
		if last, err := time.Parse(jobTime, head); err == nil && !now.After(last) {
			now = last.Add(time.Second)
		}
	}
	return now.Format(jobTime)
}

// newJob names a job by its time, card and chance, so that names sort and two
// operators never meet in one.
func (o *Ops) newJob(kind string, c Card, s *inventory.Snapshot, card *inventory.Card) job {
	id := fmt.Sprintf("%s-%s-%s", jobStamp(o.cfg.Now(), s),
		strings.NewReplacer(":", "-", ".", "-").Replace(c.PCI.String()), newSuffix()[:4])
	j := job{id: id, kind: kind, pci: c.PCI}
	j.set("version", journalVersion)
	j.set("job", id)
	j.set("kind", kind)
	j.set("pci", c.PCI.String())
	j.set("operator", o.cfg.Operator)
	j.set("boot_id", s.BootID)
	j.set("unit", j.unit())
	j.identify(c.Recorded, card)
	if f := card.Flash; f != nil {
		j.set("from_psid", f.PSID)
		j.set("from_fw", f.FW.String())
		if !f.BlankGUIDs {
			j.set("from_guids", guidWords(f.GUIDs))
			j.set("from_macs", f.GUIDs.MAC1.Hex()+" "+f.GUIDs.MAC2.Hex())
		}
	}
	return j
}

func guidWords(g ib.GUIDSet) string {
	return strings.Join([]string{g.Node.Hex(), g.Port1.Hex(), g.Port2.Hex(), g.SystemImage.Hex()}, " ")
}

// set adds a line of the request; a line break in a value would begin another.
func (j *job) set(key, value string) {
	value = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == 0 {
			return ' '
		}
		return r
	}, value)
	j.request = append(j.request, [2]string{key, value})
}

func (j job) requestText() string {
	var b strings.Builder
	for _, kv := range j.request {
		b.WriteString(kv[0] + "=" + kv[1] + "\n")
	}
	return b.String()
}

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
	case "unit":
		o.unit = unitRuns(value)
	case "process":
		o.pids = append(o.pids, value)
	case "hidden":
		o.hidden = value
	case "lock":
		o.locked = map[string]fact.Bool{"free": fact.Known(false), "taken": fact.Known(true)}[value]
	case "holder":
		k, v, _ := strings.Cut(value, "=")
		o.holder[k] = v
	case "boot":
		o.bootID = value
	case "exit":
		if strings.TrimSpace(value) == "" {
			break // a full disk took its content
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("exit status %q of the job is not a number", value)
		}
		o.ended, o.exit = true, n
	case "settled":
		o.settled = true
	case "reason":
		o.reason = value
	case "state":
		_, rest, _ := strings.Cut(value, " ") // the number is the order already
		name, when, _ := strings.Cut(rest, " ")
		o.states = append(o.states, inventory.JobState{Name: name, Time: when})
	case "held":
		k, v, _ := strings.Cut(value, "=")
		o.held[k] = v
	}
	return nil
}

// watch looks at a job until it has ended, was interrupted, or is absent. It
// never stops a job. A connection that breaks is dialled anew by the next
// look; its errors say that the job goes on and where.
//
// For a moment a job may be there without its unit, or not yet be there, if the
// connection broke while it was started; grace is how long that is waited for.
func (o *Ops) watch(ctx context.Context, c Card, id string, grace time.Duration) (outcome, error) {
	begin := time.Now()
	deadline, contact := begin.Add(o.cfg.Deadline), begin
	said, seen := "", false
	for {
		out, err := o.look(ctx, c.Host, id)
		seen = seen || err == nil && !out.absent
		out.seen = seen
		switch {
		case err == nil:
			contact = time.Now()
			if out.over() && (!out.fresh() || time.Since(begin) >= grace) {
				c.Host.Invalidate()
				return out, nil
			}
			said = o.report(ctx, id, said, out.step())
		case ctx.Err() != nil:
			return out, o.goesOn(c, id, "this run was interrupted", context.Cause(ctx))
		case !passing(err):
			return out, o.goesOn(c, id, "it cannot be watched", err)
		case time.Since(contact) > o.cfg.Lost:
			return out, o.goesOn(c, id, fmt.Sprintf("the host has not answered for %s", o.cfg.Lost), err)
		default:
			redial(c.Host, err)
		}
		if time.Now().After(deadline) {
			return out, o.goesOn(c, id, fmt.Sprintf("it has not ended within %s (%s)", o.cfg.Deadline, out.known()), err)
		}
		if err := sleep(ctx, o.cfg.Poll); err != nil {
			return out, o.goesOn(c, id, "this run was interrupted", err)
		}
	}
}

// report tells of a new last line of a job, and returns what has been told.
func (o *Ops) report(ctx context.Context, id, said, now string) string {
	if now != said {
		o.cfg.Progress(ctx, fmt.Sprintf("Job %s: %s", id, now))
	}
	return now
}

// redial has the next command dial anew after a failed attempt to connect, which
// the transport otherwise remembers for some seconds. A connection that stands is
// left alone: others may be using it.
func redial(h host.Host, err error) {
	var lost *host.UnreachableError
	if errors.As(err, &lost) && lost.Op == "connect" {
		h.Drop()
	}
}

// passing reports whether an error may be gone at the next try.
func passing(err error) bool {
	var lost *host.UnreachableError
	if errors.As(err, &lost) {
		return !lost.Lasting()
	}
	var output *host.OutputError
	return errors.As(err, &output) // an answer cut by a broken connection
}

func (o *Ops) goesOn(c Card, id, why string, err error) error {
	return &Error{
		Summary: "Unable to follow job " + id + " on card " + c.ID(),
		What:    "The change of the flash was started as a job of the host, and " + why + ".",
		Means:   "The job is not affected by this: it was not stopped and continues on the host. Do not restart the host or unplug the card before it has ended.",
		Check:   "Run plan or apply again: the next one finds the job, waits for it, reads the card and settles it. To look by hand: systemctl status " + unitName(id),
		Facts:   []Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", jobDir(id)}, {"Unit", unitName(id)}},
		Err:     err,
	}
}

// vanished is the error about a job whose directory was removed before its end was read.
func (o *Ops) vanished(c Card, out outcome) error {
	return &Error{
		Summary: "Unable to follow job " + out.id + " on card " + c.ID(),
		What:    "Somebody removed the directory of the job while it ran, and with it the record of how it ended. The job has ended since: " + out.known() + ".",
		Means:   "The flash may have been written. Whether it was written to the end is not known.",
		Check: "Do not restart the host before the flash verifies: mstflint -d " + c.PCI.String() + " v, then mstflint -d " + c.PCI.String() + " q. " +
			"If it does, run apply again. If it does not, burn the backup.",
		Facts: []Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", jobDir(out.id)}, {"Unit", unitName(out.id)}},
	}
}

// run stores and starts a job and watches it to its end.
func (o *Ops) run(ctx context.Context, c Card, j job) (outcome, error) {
	_, err := c.Host.Run(ctx, startJob(j))
	grace := 2 * o.cfg.Poll
	var lost *host.UnreachableError
	switch {
	case err == nil:
	case errors.As(err, &lost) && lost.MayHaveRun:
		// The job's directory tells whether the start arrived.
		grace = 10 * o.cfg.Poll
		o.cfg.Progress(ctx, fmt.Sprintf("Connection lost while starting job %s; looking for it", j.id))
	default:
		e := &Error{
			Summary: "Unable to start the flash job of card " + c.ID(),
			What:    "The job could not be stored or started on the host.",
			Means:   "Nothing was written to the card.",
			Facts:   []Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Job directory", jobDir(j.id)}},
			Err:     err,
		}
		if _, exit := exitOf(err); exit != nil {
			e.Facts = append(e.Facts, exitFacts(exit)...)
		}
		return outcome{}, e
	}
	out, watchErr := o.watch(ctx, c, j.id, grace)
	if watchErr != nil {
		return out, watchErr
	}
	if out.absent && (out.seen || err == nil) {
		return out, o.vanished(c, out)
	}
	if out.absent {
		return out, &Error{
			Summary: "Unable to start the flash job of card " + c.ID(),
			What:    "The connection was lost before the request to start it arrived.",
			Means:   "Nothing was written to the card.",
			Check:   "Run apply again.",
			Facts:   []Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}},
			Err:     err,
		}
	}
	return out, nil
}
