// Package watch is the command that shows the flash jobs of hosts while they run, from
// what the jobs write down on their hosts. It needs neither the apply that started a
// job nor its machine.
//
// It must not open a card, take a lock, or change a host.
package watch

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
)

// The exit statuses besides those of all commands.
const (
	Nothing   = 4 // no job runs, and each earlier one was read back
	Undecided = 5 // a job runs, or it is not known how it came out
)

const text = `Shows the flash jobs of each HOST, as the jobs write them down on their host: time,
host, card, step, percent, and what comes next. This also works from another machine,
and after the provider was killed. It opens no card, takes no lock and changes nothing.

It ends when no job runs and an apply has read each card back, or has not done so for a
minute. On a terminal it draws a bar for each job; elsewhere it prints a line for each
step.

` + target.Help + `

Exit status: 0 if each job is verified: written and read back. 1 if one failed, was
refused or interrupted, or its card does not hold what was asked for. 2 if the command
line is wrong. 3 if a host cannot be reached. 4 if no job runs and none is left open.
5 if a job still runs, which only -once and Ctrl-C leave behind, or nobody has read its
card back, or it is not known whether it runs. Of several, the first of 3, 1, 5, 0, 4.`

// order is what the command line asks for.
type order struct {
	target.Options
	once bool
	pace
}

// pace is how often a host is asked, and how long something may stay away.
type pace struct {
	every time.Duration
	// settle is how long a job that has ended may wait for the apply that reads its card
	// back, and lost how long a host may not answer: it may restart.
	settle, lost time.Duration
}

// Command is "watch".
var Command = newCommand(pace{every: 2 * time.Second, settle: time.Minute, lost: 10 * time.Minute})

func newCommand(usual pace) command.Command {
	return command.Command{Name: "watch", Summary: "show the flash jobs of hosts while they run; reads only",
		Run: func(ctx context.Context, args []string, std command.Streams) int {
			fs := command.NewFlags("watch [options] HOST…", text)
			o := order{pace: usual}
			fs.BoolVar(&o.once, "once", false, "show how far the jobs are now, and end")
			fs.DurationVar(&o.every, "every", o.every, "pause of this `TIME` between two looks")
			return o.Run(fs, args, std, func(targets []*target.Target) int {
				if o.every <= 0 {
					return command.WrongUsage(fs, errors.New("-every is not above zero"), std)
				}
				return o.run(ctx, targets, std)
			})
		}}
}

// run watches all hosts at a time, and gives the status of the one that matters most.
func (o *order) run(ctx context.Context, targets []*target.Target, std command.Streams) int {
	page := newPage(std, o.JSON)
	return worst(slices.Collect(target.Each(targets, len(targets), func(t *target.Target) int {
		w := &watcher{pace: o.pace, once: o.once, target: t, page: page, jobs: map[string]*following{}}
		return w.run(ctx)
	})))
}

// worst is the status of several hosts, or of several jobs.
func worst(all []int) int {
	for _, s := range []int{command.Unreachable, command.Failed, Undecided, command.OK} {
		for _, had := range all {
			if had == s {
				return s
			}
		}
	}
	return Nothing
}
