// Package check is the command that says how hosts are reached and what they lack,
// before anything is configured.
//
// It must not change a host. It judges nothing itself: the findings of a plan say what
// is missing.
package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
)

// Command is "check".
var Command = command.Command{Name: "check",
	Summary: "say how hosts are reached and what they lack; reads only", Run: run}

const text = `Connects to each HOST as a plan would and says what is used, where it comes from,
and what is missing. It reads only. HOST is [user@]host, [user@]host:port, or an
alias of ~/.ssh/config.

Exit status: 0 if nothing is missing, 1 if something is, 3 if a host cannot be
reached or logged in to, 2 if the command line is wrong.`

// atOnce bounds the hosts that are read at the same time.
const atOnce = 8

func run(ctx context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("check [options] HOST…", text)
	var options target.Options
	options.Define(fs)
	specs, status, done := command.Parse(fs, args, std)
	if done {
		return status
	}
	set, err := options.Open(specs, std)
	if err != nil {
		return command.WrongUsage(fs, err, std)
	}
	defer set.Close()
	reports := lookAll(ctx, set.Targets)
	if options.JSON {
		return printJSON(reports, std)
	}
	worst := command.OK
	for _, one := range reports {
		r := <-one
		r.print(std.Out)
		worst = max(worst, r.status())
	}
	return worst
}

// lookAll reads the hosts side by side; their reports come in the order of the targets.
func lookAll(ctx context.Context, targets []*target.Target) []chan *report {
	reports := make([]chan *report, len(targets))
	for i := range reports {
		reports[i] = make(chan *report, 1)
	}
	next := make(chan int, len(targets))
	for i := range targets {
		next <- i
	}
	close(next)
	var workers sync.WaitGroup
	for range min(atOnce, len(targets)) {
		workers.Go(func() {
			for i := range next {
				reports[i] <- look(ctx, targets[i])
			}
		})
	}
	return reports
}

func printJSON(reports []chan *report, std command.Streams) int {
	worst := command.OK
	all := struct {
		Hosts []*report `json:"hosts"`
	}{}
	for _, one := range reports {
		r := <-one
		worst = max(worst, r.status())
		all.Hosts = append(all.Hosts, r)
	}
	out := json.NewEncoder(std.Out)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(all); err != nil {
		fmt.Fprintln(std.Err, err)
		return command.Failed
	}
	return worst
}

// print writes a report for a person: a line for each step, and what is to be done
// below it.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n", r.Name)
	for _, s := range r.Steps {
		line := fmt.Sprintf("  %-8s %-13s %s", s.Status, s.Step, s.Text)
		if s.Source != "" {
			line += "  (" + s.Source + ")"
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
		for detail := range strings.Lines(s.Detail) {
			fmt.Fprintln(w, strings.TrimRight("           "+detail, " \n"))
		}
	}
	fmt.Fprintf(w, "%s: %s\n\n", r.Name, r.Outcome)
}
