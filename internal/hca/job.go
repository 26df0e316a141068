package hca

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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
		out.noteSeen(err, &seen)
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
		Heading: unknownEnd(c),
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
