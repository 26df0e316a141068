// Package rollout is the command that applies a root module host by host: one host first, then
// waves. It runs the engine with -target.
//
// It must not reach a host, judge, or apply what it has not shown.
package rollout

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
)

// Command is "rollout".
var Command = command.Command{Name: "rollout", Summary: "apply a root module to one host, then to waves of hosts",
	Run: run}

const text = `Applies the root module in DIR, or here, in waves: first one host to its end, then N
hosts at a time. Each host needs a module instance of its own: module "host" with
for_each. The engine does the work, with -target for each wave.

It shows the waves and what each host gets, and asks. Then, for each wave, it plans the
hosts again, stops if that plan does anything that was not shown, applies it, and stops
unless a new plan is empty, and subnet managers, links and checks of these hosts are well.
At last it applies what is in no host's module. It ends when a plan of all is empty.

After a failure nothing more is begun, nor by other rollouts with the same -stop-file.
Run the same command again to go on: what is done is planned as no change, and is skipped.

Two hosts with a subnet manager are never in one wave, nor both ends of a cable of
infiniband_fabric or of an infiniband_benchmark. With an output failure_domains, a map
from host to rack or the like, no wave has all hosts of one.

Exit status: 0 if all is applied and a plan of all is empty. 1 if it stopped or was not
approved: it says what is done and what is not. 2 if the command line is wrong.`

// order is what the command line asks for.
type order struct {
	engine engine
	saved  string   // a plan that was reviewed
	stop   stopFile // what a failure writes for other rollouts
	canary string
	wave   int
	yes    bool
}

func run(ctx context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("rollout [options] [DIR]", text)
	var o order
	name := fs.String("engine", "", "run this `PROGRAM` instead of terraform, or else tofu, on PATH")
	fs.StringVar(&o.saved, "plan", "", "do only what this saved plan of all, `FILE`, says; it was reviewed")
	fs.StringVar(&o.canary, "canary", "", "begin with this `HOST` instead of the first one that changes")
	fs.IntVar(&o.wave, "wave", 1, "change up to `N` hosts at a time after the first one")
	fs.BoolVar(&o.yes, "auto-approve", false, "do not ask, and do not begin if something does not work")
	fs.Func("stop-file", "begin no wave while this `FILE` is there; a failure writes it, for all rollouts that name it",
		func(file string) error {
			path, err := filepath.Abs(file)
			o.stop = stopFile(path)
			return err
		})
	variable := func(flag string) func(string) error {
		return func(value string) error {
			o.engine.vars = append(o.engine.vars, flag+"="+value)
			return nil
		}
	}
	fs.Func("var", "`NAME=VALUE` of a variable, as the engine takes it; each apply gets it, too", variable("-var"))
	fs.Func("var-file", "`FILE` with variables, none of them ephemeral; relative to DIR", variable("-var-file"))
	dirs, status, done := command.Parse(fs, args, std)
	if done {
		return status
	}
	err := o.check(dirs)
	if err == nil {
		o.engine.program, err = findEngine(*name)
	}
	if err != nil {
		return command.WrongUsage(fs, err, std)
	}
	if err = o.run(ctx, std); err != nil {
		fmt.Fprintf(std.Err, "rollout: %v\n", err)
		return command.Failed
	}
	return command.OK
}

// check says what is wrong with a command line.
func (o *order) check(dirs []string) error {
	if len(dirs) > 1 {
		return errors.New("there is more than one DIR")
	}
	if o.wave < 1 {
		return errors.New("-wave is below 1")
	}
	o.engine.dir, o.engine.parallelism = cmp.Or(strings.Join(dirs, ""), "."), o.wave
	if info, err := os.Stat(o.engine.dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is no directory", o.engine.dir)
	}
	err := o.stop.usable()
	if o.saved == "" || err != nil {
		return err
	}
	o.saved, err = filepath.Abs(o.saved)
	return err
}

// run plans all, shows the waves, and lets them run.
func (o *order) run(ctx context.Context, std command.Streams) (err error) {
	if o.engine.plans, err = os.MkdirTemp("", "infiniband-rollout-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(o.engine.plans) }()
	o.engine.out = std.Out
	if err = o.stop.check(); err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	fmt.Fprintf(std.Err, "Planning all hosts with %s.\n", filepath.Base(o.engine.program))
	now, _, err := o.engine.plan(ctx, nil)
	if err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	r, err := o.prepare(ctx, now)
	if err != nil {
		return fmt.Errorf("nothing was done: %w", err)
	}
	r.out = std.Out
	r.show(now)
	if r.nothing(now) {
		return r.seenAll(now)
	}
	if o.yes && len(r.before) > 0 {
		return errors.New("nothing was done: not all works on hosts on which nothing is left to do, and -auto-approve asks " +
			"nobody. Mend it, or run the same without -auto-approve and answer")
	}
	if !o.yes && !approved(std) {
		return errors.New("nothing was done: it was not approved")
	}
	return r.all(ctx)
}

// prepare makes the waves of a plan of all, of which only what the operator has seen may be done.
func (o *order) prepare(ctx context.Context, now *plan) (*rollout, error) {
	lab, err := byHost(now)
	if err != nil {
		return nil, err
	}
	seen := announce(now)
	if o.saved != "" {
		saved, showErr := o.engine.show(ctx, o.saved)
		if showErr != nil {
			return nil, showErr
		}
		seen = announce(saved)
		if more := seen.beyond(now); len(more) > 0 {
			return nil, fmt.Errorf("%w. Or run the same without -plan: it shows what it does first",
				beyondError(o.saved+" does not say all that has to be done now", more))
		}
	}
	if o.canary != "" && lab.Hosts[o.canary] == nil {
		return nil, fmt.Errorf("the plan has no host %s", o.canary)
	}
	todo := lab.todo()
	canary := o.canary
	if canary == "" && len(todo) > 0 {
		canary = todo[0]
	}
	return &rollout{engine: &o.engine, lab: lab, canary: canary, seen: seen, before: lab.elsewhere(unwell(now)),
		waves: lab.waves(todo, canary, o.wave), stop: o.stop}, nil
}

func beyondError(what string, changes []string) error {
	return fmt.Errorf("%s:\n  %s\nPlan again, and look at what has changed since", what, strings.Join(changes, "\n  "))
}

// approved asks a person.
func approved(std command.Streams) bool {
	fmt.Fprint(std.Out, "\nOnly \"yes\" begins: ")
	answer, _ := bufio.NewReader(std.In).ReadString('\n')
	return strings.TrimSpace(answer) == "yes"
}

// title names a wave.
func title(i int, wave []string) string {
	name := fmt.Sprintf("Wave %d", i)
	if i == 0 {
		name = "First"
	}
	return name + ": " + strings.Join(wave, ", ")
}

// steps say what a host gets, one line an object.
func (h *host) steps() string {
	var all []string
	for _, c := range h.Pending {
		all = append(all, "  "+strings.TrimPrefix(c.Type, ours)+": "+c.does())
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}
