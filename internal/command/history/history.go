// Package history is the command that says who changed what on a host, when, from what
// to what, and how it ended, from what is noted there.
//
// It must not open a card, take a lock, or change a host.
package history

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/record"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

const text = `Shows what this provider has changed on each HOST, oldest first: when, who, what,
from what to what, and how it ended. Firmware, GUIDs, link types, settings,
virtual functions, ports, subnet managers, names and interfaces are noted on their host,
whatever machine the change came from, and benchmarks on their client. It opens no card,
takes no lock and changes nothing.

` + target.Help + `

Exit status: 0 if the notes of each host were read, 2 if the command line is wrong, 3 if
those of a host could not be.`

// Command is "history".
var Command = command.Command{Name: "history",
	Summary: "say who changed what on a host, from what to what, and how it ended; reads only", Run: run}

// past is what was done on one host.
type past struct {
	Host    string          `json:"host"`
	Error   string          `json:"error,omitempty"`
	Unknown string          `json:"unknown,omitempty"` // why it is not known which jobs run
	Damaged int             `json:"damaged,omitempty"` // notes that are cut, or of a later release
	Changes []record.Change `json:"changes"`
}

func run(ctx context.Context, args []string, std command.Streams) int {
	fs := command.NewFlags("history [options] HOST…", text)
	var options target.Options
	return options.Run(fs, args, std, func(targets []*target.Target) int {
		status := command.OK
		var all []past
		for p := range target.Each(targets, target.AtOnce, func(t *target.Target) past { return read(ctx, t) }) {
			if p.Error != "" {
				status = command.Unreachable
			}
			all = append(all, p)
		}
		if options.JSON {
			return command.PrintJSON(fs, map[string]any{"hosts": all}, status, std)
		}
		printTable(all, std)
		return status
	})
}

// read reads the notes of one host.
func read(ctx context.Context, t *target.Target) past {
	p := past{Host: t.Name, Changes: []record.Change{}}
	err := t.Err
	var look record.Look
	if err == nil {
		look, err = record.Read(ctx, t.Host)
	}
	if err != nil {
		p.Error = t.Unreached(err)
		return p
	}
	if look.Unread != "" {
		p.Error = "changes may be missing, as notes could not be read: " + diagnostic.Line(look.Unread)
	}
	p.Unknown, p.Damaged = diagnostic.Line(look.Silent), look.Damaged
	p.Changes = look.Changes(diagnostic.Line)
	return p
}

// printTable prints a line for each change; what is to be said of a host itself goes to
// standard error.
func printTable(all []past, std command.Streams) {
	w := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	head := "TIME\tHOST\tOBJECT\tWHAT\tFROM\tTO\tBY\tRESULT\n"
	for _, p := range all {
		switch {
		case p.Error != "":
			fmt.Fprintf(std.Err, "%s: %s\n", p.Host, p.Error)
		case p.Damaged > 0:
			fmt.Fprintf(std.Err, "%s: changes may be missing: %d of the notes cannot be understood; a full disk has cut them, "+
				"or a later release has written them\n", p.Host, p.Damaged)
		case len(p.Changes) == 0:
			fmt.Fprintf(std.Err, "%s: nothing is noted on this host\n", p.Host)
		}
		if p.Unknown != "" {
			fmt.Fprintf(std.Err, "%s: which jobs run is not known: %s\n", p.Host, p.Unknown)
		}
		for _, c := range p.Changes {
			fmt.Fprint(w, head)
			head = ""
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Time, p.Host, c.Object, c.What, c.From, c.To, c.By, c.End())
		}
	}
	_ = w.Flush() // Main sees a failure, as with every other line
}
