// Package check is the command that says how hosts are reached and what they lack,
// before anything is configured.
//
// It must not change a host. It judges nothing itself: the findings of a plan say what
// is missing.
package check

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
)

// Command is "check".
var Command = command.Command{Name: "check",
	Summary: "say how hosts are reached and what they lack; reads only", Run: run}

const text = `Connects to each HOST as a plan would and says what is used, where it comes from,
and what is missing. It reads only.

` + target.Help + `

Exit status: 0 if nothing is missing, 1 if something is, 3 if a host cannot be
reached or logged in to, 2 if the command line is wrong.`

func run(ctx context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("check [options] HOST…", text)
	var options target.Options
	return options.Run(fs, args, std, func(targets []*target.Target) int {
		one := func(t *target.Target) *Report {
			r, _ := Look(ctx, t)
			return r
		}
		worst := command.OK
		var all []*Report
		for r := range target.Each(targets, target.AtOnce, one) {
			worst = max(worst, r.ExitStatus())
			if all = append(all, r); !options.JSON {
				r.print(std.Out)
			}
		}
		if options.JSON {
			return command.PrintJSON(fs, map[string]any{"hosts": all}, worst, std)
		}
		return worst
	})
}

// print writes a report for a person: a line for each step, and what is to be done
// below it.
func (r *Report) print(w io.Writer) {
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
