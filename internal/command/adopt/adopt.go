// Package adopt is the command that writes a repository from a lab that exists: the
// configuration of what is on the hosts, and the import blocks that take it over.
//
// It must not change a host, say what can be adopted, which provider/adoption does, or
// overwrite a file.
package adopt

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/auth"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/adoption"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Factory starts a provider in this process.
type Factory func() tfprotov6.ProviderServer

// order is what the command line asks for.
type order struct {
	target.Options
	folder string
	check  bool
	change bool

	factory Factory
	flags   *flag.FlagSet
	std     command.Streams
}

const help = `Reads the hosts and writes a configuration of what is on them: cards, firmware, GUIDs,
link types, subnet managers, ports and IPoIB interfaces, with the import blocks that
take them over, and a README.md. "terraform plan" then imports all of it and changes
nothing. Nothing is changed on a host, and no file is overwritten.

What an apply would change is a comment in the files. With -take-over it is written like
the rest; the plan then shows what it changes. What an apply could not do now, such as a
subnet manager on a port without a link, stays a comment.

` + target.Help + `

Exit status: 0 if every host was read, 1 if one is left out or nothing was written, 3 if
a host cannot be reached or logged in to, 2 if the command line is wrong.`

// Command is the sub-command.
func Command(factory Factory) command.Command {
	return command.Command{
		Name: "adopt", Summary: "write the configuration of a lab that exists, with its import blocks",
		Run: func(ctx context.Context, args []string, std command.Streams) int {
			fs := command.NewFlags("adopt [options] HOST…", help)
			o := order{factory: factory, flags: fs, std: std}
			fs.StringVar(&o.folder, "out", ".", "`FOLDER` to write into")
			fs.BoolVar(&o.check, "check", false, "say what would be adopted, and write nothing")
			fs.BoolVar(&o.change, "take-over", false,
				"also write subnet managers and interfaces that the apply changes, with the consents that this needs")
			return o.Run(fs, args, std, func(targets []*target.Target) int { return o.run(ctx, targets) })
		},
	}
}

// found is the lab as it was found, and how its hosts are reached.
type found struct {
	*adoption.Lab
	targets   []*target.Target
	unreached bool // true if a host cannot be reached or logged in to
}

// read looks at all hosts at the same time.
func (o *order) read(ctx context.Context, targets []*target.Target) found {
	type answer struct {
		*adoption.Machine
		unreached bool
	}
	var machines []*adoption.Machine
	unreached := false
	for a := range target.Each(targets, len(targets), func(t *target.Target) answer {
		snap, err := look(ctx, t)
		var gone *host.UnreachableError
		return answer{adoption.NewMachine(t.Name, t.Spec, snap, err), t.Err != nil || errors.As(err, &gone)}
	}) {
		machines, unreached = append(machines, a.Machine), unreached || a.unreached
	}
	return found{Lab: adoption.NewLab(machines, o.progress), targets: targets, unreached: unreached}
}

func look(ctx context.Context, t *target.Target) (*inventory.Snapshot, error) {
	snap, err := (*inventory.Snapshot)(nil), t.Err
	if err == nil {
		snap, err = t.Host.Snapshot(ctx)
	}
	if gone := (*host.UnreachableError)(nil); errors.As(err, &gone) {
		// A command line has no state and no provider block that could be changed.
		return nil, &explain.Failure{What: diagnostic.Lost(gone), Means: target.Advice(gone), Err: gone,
			Check: "terraform-provider-infiniband check " + t.Spec + " shows step by step how far it gets."}
	}
	if sudo := (*host.PrivilegeError)(nil); errors.As(err, &sudo) {
		return nil, &explain.Failure{Err: sudo, Check: "This command takes the password by -ask-sudo-password, " +
			"-sudo-password-file FILE, or from " + string(auth.EnvSudoPassword) + "."}
	}
	return snap, err
}

// run reads, renders and writes; it returns the exit status.
func (o *order) run(ctx context.Context, targets []*target.Target) int {
	if !o.check {
		if err := checkVacant(o.folder, names...); err != nil {
			o.report(found{Lab: adoption.NewLab(nil, o.progress)}, nil, err)
			return command.Failed
		}
	}
	lab := o.read(ctx, targets)
	var err error
	if len(lab.Up()) > 0 {
		err = o.settle(ctx, lab)
	}
	switch {
	case ctx.Err() != nil:
		err = errors.New("interrupted; nothing was written")
	case err == nil && len(lab.Adopted())+len(lab.TakenOver()) == 0:
		err = errors.New("nothing was found that can be adopted; nothing was written")
	}
	var written []string
	if err == nil && !o.check {
		written, err = write(o.folder, names, o.files(lab))
	}
	o.report(lab, written, err)
	switch {
	case lab.unreached:
		return command.Unreachable
	case err != nil || len(lab.FailedHosts()) > 0:
		return command.Failed
	}
	return command.OK
}

// progress tells a person what is done now.
func (o *order) progress(format string, args ...any) {
	fmt.Fprintf(o.std.Err, format+"\n", args...)
}

// settle finds out what can be adopted, and draws the fabrics.
func (o *order) settle(ctx context.Context, lab found) error {
	config := o.provider(lab).data()
	config["backup_dir"] = filepath.Join(o.folder, "firmware-backups")
	start := func(ctx context.Context) (*adoption.Walk, error) { return adoption.Start(ctx, o.factory(), config) }
	if err := lab.Settle(ctx, start, o.progress); err != nil {
		return err
	}
	if o.change {
		lab.TakeOver()
	}
	lab.Draw(ctx)
	return nil
}

// report says what was done: to scripts on stdout, to people there, too, and what failed
// on stderr.
func (o *order) report(lab found, written []string, err error) {
	if o.JSON {
		result := resultOf(lab, written)
		if err != nil {
			result.Error = err.Error()
		}
		command.PrintJSON(o.flags, result, command.OK, o.std)
		return
	}
	for _, h := range lab.FailedHosts() {
		fmt.Fprintf(o.std.Err, "\nHost %s is left out: %s\n%s\n", h.Name, h.Error.Summary, indent(h.Error.Detail))
	}
	for _, all := range lab.RefusedAlike() {
		fmt.Fprintf(o.std.Err, "\nNot adopted: %s %s\n  %s\n", all[0].Type, adoption.IDs(all), all[0].Reason.Summary)
	}
	for _, r := range lab.Adopted() {
		fmt.Fprintf(o.std.Out, "%s  %s\n", r.Address(), r.ID)
	}
	for _, r := range lab.TakenOver() {
		fmt.Fprintf(o.std.Out, "%s  %s  (the apply changes it)\n", r.Address(), r.ID)
	}
	if err != nil {
		fmt.Fprintln(o.std.Err, "adopt:", err)
		return
	}
	if o.check {
		fmt.Fprintf(o.std.Out, "\n%s. Nothing was written.\n", lab.Summary())
		return
	}
	fmt.Fprintf(o.std.Out, "\n%s. Written are:\n", lab.Summary())
	for _, file := range written {
		fmt.Fprintln(o.std.Out, "  "+file)
	}
	enter := ""
	if o.folder != "." {
		enter = "cd " + o.folder + " && "
	}
	fmt.Fprintf(o.std.Out, "\nNow run: %sterraform init && terraform plan\n", enter)
}

// result is what scripts get.
type result struct {
	Hosts      []*adoption.Machine `json:"hosts"`
	Adopted    []*adoption.Object  `json:"adopted"`
	TakenOver  []*adoption.Object  `json:"taken_over"`
	NotAdopted []*adoption.Object  `json:"not_adopted"`
	Files      []string            `json:"files"`
	Error      string              `json:"error,omitempty"`
}

func resultOf(lab found, written []string) *result {
	return &result{Hosts: list(lab.Machines), Adopted: list(lab.Adopted()), TakenOver: list(lab.TakenOver()),
		NotAdopted: list(lab.Refused()), Files: list(written)}
}

// list is never null in JSON.
func list[T any](all []T) []T { return append([]T{}, all...) }

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}
