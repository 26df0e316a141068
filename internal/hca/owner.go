package hca

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// owner is the apply that started a job and watches it: whoever meets the job
// leaves it to an owner that lives.
type owner struct {
	machine string
	process string // its id and, where that is known, when it began: ids are used again
}

func thisProcess() owner {
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	return owner{machine: machine, process: processName(os.Getpid())}
}

// processName is empty for a process that does not run. Linux says when a process
// began: field 22 of stat in ticks since the machine started (proc_pid_stat(5)); the
// name before it may hold blanks and brackets.
func processName(pid int) string {
	id := strconv.Itoa(pid)
	if runtime.GOOS != "linux" {
		if alive(pid) {
			return id
		}
		return ""
	}
	stat, err := os.ReadFile("/proc/" + id + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return id
	}
	return id + "@" + fields[19] + "@" + strings.TrimSpace(string(boot))
}

// lives reports whether an owner on this machine still runs. Of another machine
// nothing is known.
func lives(w owner) bool {
	id, _, _ := strings.Cut(w.process, "@")
	pid, err := strconv.Atoi(id)
	return err == nil && w.machine == thisProcess().machine && processName(pid) == w.process
}

// leaveToOwner waits until the apply that watches a job has settled it, or does not
// live any more. Of an apply on another machine that is not known: it gets some
// looks more, and a job that is settled twice does no harm.
func (o *Ops) leaveToOwner(ctx context.Context, c Card, record *inventory.Job, out journal.Outcome) (journal.Outcome, error) {
	entry := journal.Read(record)
	w := owner{machine: entry.OwnerMachine, process: entry.OwnerProcess}
	here := w.machine == o.me.machine
	if out.Absent || out.Settled || w == o.me || w.process == "" || !here && fact.No(record.Running) {
		return out, nil
	}
	limit := o.cfg.Lost
	if !here {
		limit = 5 * o.cfg.Poll
	}
	out, waited, err := o.awaitOwner(ctx, c, out, limit, func() bool { return !here || o.alive(w) })
	if err != nil || !here || !waited {
		return out, err
	}
	pid, _, _ := strings.Cut(w.process, "@")
	return out, &safety.RefusedError{What: "take over job " + out.ID + " of card " + c.ID(), Findings: []finding.Finding{
		finding.FlashJobRunning.Find("Job %s has ended, and the apply that started it, process %s on this machine, has not settled it within %s.", out.ID, pid, limit),
	}}
}

// awaitOwner looks at a job until it is settled or its owner does not live; waited
// says that neither came about in time.
func (o *Ops) awaitOwner(ctx context.Context, c Card, out journal.Outcome, limit time.Duration, lives func() bool) (last journal.Outcome, waited bool, err error) {
	for begin := time.Now(); time.Since(begin) < limit; {
		living := lives() // before the look: it may settle the job with its last breath
		next, err := o.look(ctx, c.Host, out.ID, out.Seen)
		switch {
		case err == nil && (next.Absent || next.Settled || !living):
			c.Host.Invalidate()
			return next, false, nil
		case err != nil && !passing(err):
			return out, false, err
		}
		if err := sleep(ctx, o.cfg.Poll); err != nil {
			return out, false, err
		}
	}
	return out, true, nil
}
