// Package command dispatches the sub-commands of the provider's binary. Without
// one, the binary is the plugin that an engine starts.
//
// It must not know what a command does, or reach a host.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// The exit statuses of all commands.
const (
	OK          = 0 // done, and all is well
	Failed      = 1 // done, and something is missing or was refused
	Usage       = 2 // the command line is wrong; nothing was done
	Unreachable = 3 // a host could not be reached or logged in to
)

// Streams are the standard streams of a command. What scripts read goes to Out;
// progress and errors go to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Command is one sub-command. Run gets the arguments behind the name and returns the
// exit status. It starts with Parse, which also answers -help.
type Command struct {
	Name    string
	Summary string // one line, without a full stop
	Run     func(ctx context.Context, args []string, std Streams) int
}

// Program is the provider's binary.
type Program struct {
	Name, Version string
	Commands      []Command
	// Serve is the plugin, for an engine or for a debugger.
	Serve func(debug bool) error
}

// cookie is the variable that an engine sets for the plugins that it starts. The
// plugin does not serve without it.
const cookie = "TF_PLUGIN_MAGIC_COOKIE"

// Main does what the command line asks for and returns the exit status. It is Failed
// where something could not be printed, whatever was found: a script would take what is
// missing for what is not there.
func (p Program) Main(ctx context.Context, args []string, std Streams) int {
	out := &output{Writer: std.Out}
	std.Out = out
	status := p.main(ctx, args, std)
	if err := out.failure(); err != nil {
		fmt.Fprintf(std.Err, "%s: standard output cannot be written, so what it shows is not complete: %v\n", p.Name, err)
		return Failed
	}
	return status
}

func (p Program) main(ctx context.Context, args []string, std Streams) int {
	if len(args) == 0 {
		if os.Getenv(cookie) == "" {
			fmt.Fprint(std.Err, p.byHand())
			return Failed
		}
		return p.serve(false, std)
	}
	switch name := args[0]; strings.TrimPrefix(name, "-") {
	case "-debug", "debug":
		return p.serve(true, std)
	case "-version", "version":
		fmt.Fprintln(std.Out, p.Name, p.Version)
		return OK
	case "-help", "help", "h":
		return p.help(ctx, args[1:], std)
	default:
		if c, ok := p.find(name); ok {
			return run(ctx, c, args[1:], std)
		}
		fmt.Fprintf(std.Err, "%s: there is no command %q.\n\n%s", p.Name, name, p.usage())
		return Usage
	}
}

func (p Program) serve(debug bool, std Streams) int {
	if err := p.Serve(debug); err != nil {
		fmt.Fprintln(std.Err, err)
		return Failed
	}
	return OK
}

func (p Program) find(name string) (Command, bool) {
	i := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == name })
	if i < 0 {
		return Command{}, false
	}
	return p.Commands[i], true
}

// run ends a command's context with the first signal; the second one ends the process.
func run(ctx context.Context, c Command, args []string, std Streams) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return c.Run(ctx, args, std)
}

func (p Program) help(ctx context.Context, args []string, std Streams) int {
	if len(args) == 0 {
		fmt.Fprint(std.Out, p.usage())
		return OK
	}
	c, ok := p.find(args[0])
	if !ok {
		fmt.Fprintf(std.Err, "%s: there is no command %q.\n\n%s", p.Name, args[0], p.usage())
		return Usage
	}
	return run(ctx, c, []string{"-help"}, std)
}

func (p Program) usage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [arguments]\n\nCommands:\n", p.Name)
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "  %-10s %s\n", c.Name, c.Summary)
	}
	fmt.Fprintf(&b, "  %-10s %s\n", "help", "show this text, or that of a command: help COMMAND")
	b.WriteString("\nOptions:\n  -version   print the version\n" +
		"  -debug     serve for a debugger and print how to reattach\n" +
		"\nWithout a command this is the plugin that Terraform and OpenTofu start.\n")
	return b.String()
}

// byHand answers a person who starts the plugin.
func (p Program) byHand() string {
	return "This program is a plugin: Terraform and OpenTofu start it. Started by hand it needs a command.\n\n" + p.usage()
}
