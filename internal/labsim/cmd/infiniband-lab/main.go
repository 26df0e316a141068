// Command infiniband-lab keeps a simulated lab running, one of ours or the twin of a recording, and breaks things
// in it meanwhile. It is a program of the release, and `make lab` runs it.
//
// It must not contain behaviour of hosts: that belongs into the packages below labsim.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// version is set by the build of a release.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "infiniband-lab:", err)
	}
	stop()
	os.Exit(status)
}

var usage = `usage: infiniband-lab serve [-image FILE]… [-one-switch] [-real-tool] LAB
       infiniband-lab COMMAND [-dir DIR] [arguments]

serve keeps a simulated lab running. LAB is the file of a recording, such as lab.tar.gz, or one of
` + strings.Join(labs.Names(), ", ") + `.
With -real-tool the mstflint of this machine answers on the hosts (Linux with FUSE; as root, or behind unshare -rm).

While it runs, in another terminal:
  power-cut HOST                          pull the power; the host starts again
  halt | start | reboot HOST
  unplug | plug HOST [PCI_ADDRESS] PORT   pull a cable out, put it back
  exchange-card HOST [PCI_ADDRESS]        another card of the same kind
  renumber HOST [PCI_ADDRESS]             all slots get other addresses
  move-card HOST PCI_ADDRESS NEW_ADDRESS
  drift HOST ` + drifts + `
  fault HOST JSON                         {"power_cut_at_flash": 40} pulls the power in the middle of a burn; {} ends it
  exec HOST COMMAND                       run a command there as root
  status, evidence                        what was done to the hosts; what is in their cards

-dir chooses the lab where several run. An address is needed where a host has several cards.
`

// run returns the exit status: 1 if something went wrong, 2 if the command line is wrong.
func run(ctx context.Context, args []string, out, errOut io.Writer) (int, error) {
	switch {
	case len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]):
		fmt.Fprint(out, usage)
		return 0, nil
	case args[0] == "version" || args[0] == "-version" || args[0] == "--version":
		fmt.Fprintln(out, "infiniband-lab", version)
		return 0, nil
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	var from source
	var dir, provider, examples string
	if args[0] == "serve" {
		flags.Func("image", "", func(name string) error { from.images = append(from.images, name); return nil })
		flags.BoolVar(&from.oneSwitch, "one-switch", false, "")
		flags.BoolVar(&from.realTool, "real-tool", false, "")
		flags.StringVar(&provider, "provider", "", "")
		flags.StringVar(&examples, "examples", "", "")
	} else {
		flags.StringVar(&dir, "dir", "", "")
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2, fmt.Errorf("%w; infiniband-lab help says what there is", err)
	}
	if args[0] != "serve" {
		return client{dir, out, errOut}.talk(ctx, args[0], flags.Args())
	}
	if flags.NArg() != 1 {
		return 2, errors.New("serve needs one lab: the file of a recording, or one of " + strings.Join(labs.Names(), ", "))
	}
	from.name = flags.Arg(0)
	if err := serve(ctx, from, hints{provider: provider, examples: examples}, out); err != nil {
		return 1, err
	}
	return 0, nil
}
