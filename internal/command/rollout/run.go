package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	show "github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// rollout is what has been shown and is to be done.
type rollout struct {
	engine *engine
	lab    *lab
	seen   announced
	before map[string]bool // what was not well before it began, where nothing is changed
	canary string
	waves  [][]string
	done   []string // the hosts that are done
	stop   stopFile
	out    io.Writer
}

// say prints lines. What a plan names may hold anything.
func (r *rollout) say(lines ...string) {
	for _, line := range lines {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		fmt.Fprintln(r.out, indent+show.Line(line))
	}
}

// show prints the waves, and what each host gets. Hosts that get the same are named together.
func (r *rollout) show(now *plan) {
	var order []string
	same := map[string][]string{}
	if len(r.waves) > 0 && !slices.Contains(r.waves[0], r.canary) {
		r.say("Host " + r.canary + " has nothing to change, so there is no canary.")
	}
	for i, wave := range r.waves {
		r.say(title(i, wave))
		for _, name := range wave {
			steps := r.lab.Hosts[name].steps()
			if same[steps] == nil {
				order = append(order, steps)
			}
			same[steps] = append(same[steps], name)
		}
	}
	if alone := r.lab.withoutDomain(r.waves); len(alone) > 0 {
		r.say("The output failure_domains does not name: " + strings.Join(alone, ", "))
	}
	if rest := r.lab.Rest; len(rest) > 0 {
		r.say("At last:")
		for _, c := range rest {
			r.say("  " + c.Address + ": " + c.does())
		}
	}
	for _, steps := range order {
		r.say("What is done on " + strings.Join(same[steps], ", ") + ":")
		r.say(strings.Split(steps, "\n")...)
	}
	if len(r.before) > 0 {
		r.say("Not well before it begins:")
		r.say(list(sorted(r.before))...)
	}
	if r.nothing(now) {
		r.say("Nothing is to be done: the plan of all is empty.")
	}
}

// seenAll is an error if the plan of all passes over hosts: then an empty one does not say that all is done.
func (r *rollout) seenAll(now *plan) error {
	if len(now.unseen) == 0 {
		return nil
	}
	return fmt.Errorf("not all is done: no answer from %s. Run the same command again when they answer",
		strings.Join(now.unseen, ", "))
}

// nothing reports whether a plan of all is empty.
func (r *rollout) nothing(now *plan) bool { return len(now.pending()) == 0 && len(now.outputs()) == 0 }

// all lets the waves run, and at last what is in no host's module.
func (r *rollout) all(ctx context.Context) error {
	for i, wave := range r.waves {
		r.say("", title(i, wave))
		err := r.stop.check()
		if err == nil {
			err = r.wave(ctx, wave)
		}
		if err != nil {
			return r.stopped(ctx, i, err)
		}
		r.done = append(r.done, wave...)
	}
	return r.last(ctx)
}

// wave brings some hosts to the end.
func (r *rollout) wave(ctx context.Context, wave []string) error {
	p, file, err := r.engine.plan(ctx, r.lab.targets(wave))
	if err != nil {
		return err
	}
	if err = r.within(p, wave); err != nil {
		return err
	}
	if len(p.pending()) > 0 {
		if err = r.engine.apply(ctx, file); err != nil {
			return err
		}
	}
	after, _, err := r.engine.plan(ctx, r.lab.targets(wave))
	if err != nil {
		return err
	}
	if left := addresses(after.pending()); len(left) > 0 {
		return fmt.Errorf("it is applied, and a new plan still changes:\n%s", strings.Join(left, "\n"))
	}
	if bad := r.worse(after); len(bad) > 0 {
		return fmt.Errorf("it is applied, and not all works:\n%s", strings.Join(bad, "\n"))
	}
	return nil
}

// within is an error if a plan of a wave does more than was shown, or changes other hosts.
func (r *rollout) within(p *plan, wave []string) error {
	if more := r.seen.beyond(p); len(more) > 0 {
		return beyondError("nothing of this wave was applied, because the plan of its hosts does more than was shown", more)
	}
	var others []string
	for name, h := range r.lab.Hosts {
		if !slices.Contains(wave, name) {
			others = append(others, h.left(p)...)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fmt.Errorf("nothing of this wave was applied, because its hosts refer to other ones, and -target changes "+
		"these as well:\n%s\nGive each host what it needs as values, not from the objects of another host",
		strings.Join(others, "\n"))
}

// left are the changes of a host that a plan still has.
func (h *host) left(p *plan) []string {
	return addresses(slices.DeleteFunc(p.pending(), func(c *change) bool {
		return !slices.ContainsFunc(h.Pending, func(o *change) bool { return o.Address == c.Address })
	}))
}

// last applies what is in no host's module, and looks whether all is done.
func (r *rollout) last(ctx context.Context) error {
	p, file, err := r.engine.plan(ctx, nil)
	if err != nil {
		return r.stopped(ctx, len(r.waves), err)
	}
	if more := r.seen.beyond(p); len(more) > 0 {
		return r.stopped(ctx, len(r.waves), beyondError("the plan of all does more than was shown", more))
	}
	var left []string
	for _, h := range r.lab.Hosts {
		left = append(left, h.left(p)...)
	}
	if len(left) > 0 {
		return r.stopped(ctx, len(r.waves), fmt.Errorf("the plan of all changes hosts that were done:\n%s",
			strings.Join(left, "\n")))
	}
	if !r.nothing(p) {
		r.say("", "At last: what is in no host's module")
		if err = r.engine.apply(ctx, file); err == nil {
			p, _, err = r.engine.plan(ctx, nil)
		}
		if err != nil {
			return r.stopped(ctx, len(r.waves), err)
		}
	}
	if !r.nothing(p) {
		return r.stopped(ctx, len(r.waves), fmt.Errorf("the plan of all is not empty:\n%s",
			strings.Join(append(addresses(p.pending()), list(p.outputs())...), "\n")))
	}
	r.say("", fmt.Sprintf("Done: %d hosts in %d waves. The plan of all is empty.", len(r.done), len(r.waves)))
	return r.seenAll(p)
}

// stopped says after a failure what is done and what is not. A new plan of the wave that failed tells which
// of its hosts are done.
func (r *rollout) stopped(ctx context.Context, failed int, err error) error {
	done, lines := r.done, []string{}
	if failed < len(r.waves) {
		open, now := r.waves[failed], []string{}
		p, _, planErr := r.engine.plan(context.WithoutCancel(ctx), r.lab.targets(open))
		for _, name := range open {
			h := r.lab.Hosts[name]
			if planErr == nil && len(h.left(p)) == 0 && !slices.ContainsFunc(sorted(unwell(p)), h.holds) {
				done = append(done, name)
			} else {
				now = append(now, name)
			}
		}
		lines = append(lines, "Not done: "+names(now), "Not begun: "+names(slices.Concat(r.waves[failed+1:]...)))
	}
	r.say(append([]string{"", "Stopped.", "Done: " + names(done)}, lines...)...)
	var elsewhere *stopError
	if errors.Is(err, errInterrupted) || errors.As(err, &elsewhere) {
		return err
	}
	again := "run the same command again: it goes on from here"
	if note := r.stop.write(err); note != "" {
		again = note + ", and " + again
	}
	return fmt.Errorf("%w\nMend what failed, then %s", err, again)
}

func names(hosts []string) string {
	if len(hosts) == 0 {
		return "none"
	}
	return strings.Join(hosts, ", ")
}

func addresses(all []*change) []string {
	lines := make([]string, len(all))
	for i, c := range all {
		lines[i] = "  " + c.Address + ": " + c.does()
	}
	return lines
}

func list(all []string) []string {
	lines := make([]string, len(all))
	for i, one := range all {
		lines[i] = "  " + one
	}
	return lines
}
