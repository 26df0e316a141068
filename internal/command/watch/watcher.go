package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
)

// watcher watches the jobs of one host.
type watcher struct {
	pace
	once   bool
	target *target.Target
	page   *page

	begun   bool                  // the host has answered once
	contact time.Time             // when it did so last
	away    bool                  // it was said that it does not answer
	jobs    map[string]*following // the jobs that were open at one look at least
	silent  string                // why it is not known which jobs there are, or run
}

// run watches to the end and returns the exit status.
func (w *watcher) run(ctx context.Context) int {
	if w.target.Err != nil {
		return w.unreached(w.target.Err)
	}
	w.contact = time.Now()
	for {
		look, err := record.Read(ctx, w.target.Host)
		switch {
		case err == nil:
			w.take(look)
			if w.over() {
				return w.status()
			}
		case ctx.Err() != nil:
			return w.status()
		case !w.mayPass(err):
			return w.unreached(err)
		default:
			w.missing(err)
		}
		if poll.Pause(ctx, w.every) != nil {
			return w.status()
		}
	}
}

// mayPass reports whether a host that does not answer is waited for: one that has
// answered may restart.
func (w *watcher) mayPass(err error) bool {
	return w.begun && !w.once && cards.MayPass(err) && time.Since(w.contact) < w.lost
}

// missing says once that a host does not answer, and has the next look dial anew, which
// the transport otherwise puts off for some seconds.
func (w *watcher) missing(err error) {
	if !w.away {
		w.away = true
		w.page.say(notice{Host: w.target.Name, Event: "no answer", Text: err.Error() + "; trying again"})
	}
	var lost *host.UnreachableError
	if errors.As(err, &lost) && lost.Op == host.OpConnect {
		w.target.Host.Drop()
	}
}

func (w *watcher) unreached(err error) int {
	w.page.say(notice{Host: w.target.Name, Event: "not reached", Text: w.target.Unreached(err)})
	return command.Unreachable
}

// take shows how the jobs stand now.
func (w *watcher) take(look record.Look) {
	first, seen := !w.begun, map[string]bool{}
	w.begun, w.away, w.contact, w.silent = true, false, time.Now(), cmp.Or(look.Silent, look.Hidden)
	for i := range look.Jobs {
		job := look.Jobs[i]
		seen[job.ID] = true
		f := w.jobs[job.ID]
		if f == nil {
			if job.Settled {
				continue
			}
			f = &following{}
			w.jobs[job.ID] = f
		}
		f.see(job, look)
		if !f.hasty() {
			w.page.show(entryOf(job, look))
		}
	}
	for id, f := range w.jobs {
		if !seen[id] && !f.gone {
			f.gone = true
			w.page.say(notice{Host: look.Host, Event: "gone", Text: "job " + id + " is gone, and so is its directory: how it " +
				"ended is not known; the next apply reads the card"})
		}
	}
	if first && len(w.jobs) == 0 {
		w.page.say(notice{Host: look.Host, Event: "nothing", Text: quiet(look)})
	}
}

// quiet says that no job is open, and how the last one ended.
func quiet(look record.Look) string {
	switch {
	case look.Silent != "":
		return "whether a flash job runs is not known: " + look.Silent
	case look.Hidden != "":
		return "whether a flash job is open is not known: " + look.Hidden
	case len(look.Jobs) == 0:
		return "no flash job is noted on this host"
	}
	job := &look.Jobs[len(look.Jobs)-1]
	text := fmt.Sprintf("no flash job is open; the last one, of card %s at %s: %s", job.PCI,
		cmp.Or(job.Since(), "an unknown time"), job.Ending())
	if more := job.Text(); more != "" {
		text += ", " + more
	}
	return text
}

// over reports whether nothing is left to wait for.
func (w *watcher) over() bool {
	for _, f := range w.jobs {
		if f.hasty() || !w.once && !f.over(w.pace) {
			return false
		}
	}
	return true
}

// status is the exit status of what was seen.
func (w *watcher) status() int {
	if !w.begun || w.silent != "" && len(w.jobs) == 0 {
		return Undecided
	}
	var all []int
	for _, f := range w.jobs {
		all = append(all, f.status())
	}
	return worst(all)
}

// following is one job that is watched.
type following struct {
	job   record.Job
	gone  bool
	aged  time.Duration // how long it has been so by the clock of the host, if that is known
	since time.Time     // when it was first seen like that
	looks int           // how often it was, one after the other
	ends  int           // how often it was seen to have failed and not yet to have ended
}

// see notes how a job stands now.
func (f *following) see(job record.Job, look record.Look) {
	if f.looks == 0 || f.job.Ending() != job.Ending() {
		f.since, f.looks = time.Now(), 0
	}
	f.looks++
	f.ends++
	if job.Ending() != record.Running || job.State() != journal.Failed {
		f.ends = 0
	}
	f.job = job
	f.aged, _ = job.Lasted(look)
}

// hasty reports whether one more look must decide: a job that is about to begin, or
// that ends at this moment, looks for an instant as if it had been interrupted.
// One that has failed says why at its end.
func (f *following) hasty() bool {
	return !f.gone && (f.job.Ending() == record.Interrupted && f.looks < 2 || f.ends == 1)
}

// over reports whether nothing more is to come of a job.
func (f *following) over(p pace) bool {
	wait := time.Since(f.since)
	switch e := f.job.Ending(); {
	case f.gone:
		return true
	case e == record.Running:
		return false
	case e == record.Unclear:
		return f.job.Unreadable() != "" || wait > p.lost
	}
	return f.job.Settled || max(wait, f.aged) > p.settle
}

func (f *following) status() int {
	switch e := f.job.Ending(); {
	case f.gone, e == record.Running, e == record.Unclear, e == record.Burned:
		return Undecided
	case e == record.Verified:
		return command.OK
	}
	return command.Failed
}
