// Package adopt is the command that writes a repository from a lab that exists: the
// configuration of what is on the hosts, and the import blocks that take it over.
//
// It must not change a host, judge what can be imported, which the provider does, or
// overwrite a file.
package adopt

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
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
the rest; the plan then shows what it changes.

HOST is what ssh takes: a name, an alias of ~/.ssh/config, or [user@]host[:port].`

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

// run reads, renders and writes; it returns the exit status.
func (o *order) run(ctx context.Context, targets []*target.Target) int {
	if !o.check {
		if err := checkVacant(o.folder); err != nil {
			return o.reportError(err)
		}
	}
	lab := o.read(ctx, targets)
	var err error
	if len(lab.up()) > 0 {
		err = o.settle(ctx, lab)
	}
	switch {
	case ctx.Err() != nil:
		err = errors.New("interrupted; nothing was written")
	case err == nil && len(lab.adoptedObjects())+len(lab.takenOver()) == 0:
		err = errors.New("nothing was found that can be adopted; nothing was written")
	}
	var written []string
	if err == nil && !o.check {
		written, err = write(o.folder, lab.files())
	}
	o.report(lab, written, err)
	if err != nil || len(lab.failedHosts()) > 0 {
		return command.Failed
	}
	return command.OK
}

func (o *order) reportError(err error) int {
	fmt.Fprintln(o.std.Err, "adopt:", err)
	return command.Failed
}

// progress tells a person what is done now.
func (o *order) progress(format string, args ...any) {
	fmt.Fprintf(o.std.Err, format+"\n", args...)
}

// settle imports what was found and tries the ways to write it, until a plan of all of it
// changes nothing.
func (o *order) settle(ctx context.Context, lab *found) error {
	config := lab.provider().data()
	config["backup_dir"] = filepath.Join(o.folder, "firmware-backups")
	first, err := start(ctx, o.factory, config)
	if err != nil {
		return err
	}
	o.progress("Asking what can be imported")
	if err = lab.adoptAll(ctx, first); err != nil {
		return err
	}
	for again := true; again; {
		began := time.Now()
		var w *walk
		if w, err = start(ctx, o.factory, config); err != nil {
			return err
		}
		if again, err = lab.planAll(ctx, w); err != nil {
			return err
		}
		o.progress("Planned %s in %s", count(len(lab.adoptedObjects()), "resource"),
			time.Since(began).Round(100*time.Millisecond))
	}
	if o.change {
		lab.takeOver()
	}
	lab.draw(ctx, first)
	return nil
}

// report says what was done: to scripts on stdout, to people there, too, and what failed
// on stderr.
func (o *order) report(lab *found, written []string, err error) {
	if o.JSON {
		result := lab.result(written)
		if err != nil {
			result.Error = err.Error()
		}
		command.PrintJSON(o.flags, result, command.OK, o.std)
		return
	}
	for _, h := range lab.failedHosts() {
		fmt.Fprintf(o.std.Err, "\nHost %s is left out: %s\n%s\n", h.Name, h.Error.Summary, indent(h.Error.Detail))
	}
	for _, r := range lab.refusedObjects() {
		fmt.Fprintf(o.std.Err, "\nNot adopted: %s %s\n  %s\n", r.Type, r.ID, r.Reason.Summary)
	}
	for _, r := range lab.adoptedObjects() {
		fmt.Fprintf(o.std.Out, "%s  %s\n", r.address(), r.ID)
	}
	for _, r := range lab.takenOver() {
		fmt.Fprintf(o.std.Out, "%s  %s  (the apply changes it)\n", r.address(), r.ID)
	}
	if err != nil {
		o.reportError(err)
		return
	}
	if o.check {
		fmt.Fprintf(o.std.Out, "\n%s. Nothing was written.\n", lab.summary())
		return
	}
	fmt.Fprintf(o.std.Out, "\n%s. Written are:\n", lab.summary())
	for _, file := range written {
		fmt.Fprintln(o.std.Out, "  "+file)
	}
	enter := ""
	if o.folder != "." {
		enter = "cd " + o.folder + " && "
	}
	fmt.Fprintf(o.std.Out, "\nNow run: %sterraform init && terraform plan\n", enter)
}
