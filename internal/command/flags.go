package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// NewFlags returns the flags of a command. usage is its first line without the name of
// the program, such as "check [options] HOST…". text follows it and says what the
// command does.
func NewFlags(usage, text string) *flag.FlagSet {
	name, _, _ := strings.Cut(usage, " ")
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Parse says what is wrong, once
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "Usage: terraform-provider-infiniband %s\n\n%s\n\nOptions:\n", usage,
			strings.TrimSpace(text))
		fs.PrintDefaults()
	}
	return fs
}

// Parse reads a command's flags and returns its other arguments. Flags may stand
// between and behind them. If done is true, the command ends with the status: somebody
// asked for help, or the command line is wrong.
func Parse(fs *flag.FlagSet, args []string, std Streams) (rest []string, status int, done bool) {
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fs.SetOutput(std.Out)
			fs.Usage()
			return nil, OK, true
		}
		if err != nil {
			return nil, WrongUsage(fs, err, std), true
		}
		left := fs.Args()
		if len(left) == 0 {
			return rest, OK, false
		}
		if len(args) > len(left) && args[len(args)-len(left)-1] == "--" {
			return append(rest, left...), OK, false
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

// WrongUsage says what is wrong with a command line, and returns the status.
func WrongUsage(fs *flag.FlagSet, err error, std Streams) int {
	fmt.Fprintf(std.Err, "%s: %v\nRun with -help to see the options.\n", fs.Name(), err)
	return Usage
}

// PrintJSON prints for a script what a command found, and returns the status that it
// would have without that.
func PrintJSON(fs *flag.FlagSet, what any, status int, std Streams) int {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	if err := out.Encode(what); err != nil {
		fmt.Fprintf(std.Err, "%s: %v\n", fs.Name(), err)
		return Failed
	}
	_, _ = std.Out.Write(text.Bytes()) // Main sees a failure, as with every other line
	return status
}
