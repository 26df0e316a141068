//go:build linux

// Command reallab runs the lab of real kernels by hand. It must not run tests.
//
//	reallab check     exit status 3 if the machine cannot, with the reasons. The first
//	                  argument is how many machines are to run at once, two without it;
//	                  the others are the suites that they boot, all without them
//	reallab prepare   check, and install QEMU and these suites of Debian, once
//	reallab key       what the installed systems are known by: it changes as they do
//	reallab serve     two machines with a card each, until Ctrl-C. Arguments name other
//	                  cards, of one machine each: connectx3, connectx4, or
//	                  connectx4-dual, which has two ports. A name with "@trixie"
//	                  behind it has the machine boot Debian 13.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

const (
	exitUsage = 2
	// exitLacking tells a machine that cannot from a machine on which it failed.
	exitLacking = 3
)

const usage = `usage: reallab check|prepare [machines [bookworm|trixie]…]
       reallab key
       reallab serve [connectx3|connectx4|connectx4-dual][@trixie]…`

func main() {
	commands := map[string]func(context.Context, []string) error{"check": check, "prepare": prepare, "key": key,
		"serve": serve}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := commands[os.Args[1]](ctx, os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status(err))
}

var errUsage = errors.New(usage)

// status is the exit status for an error. One that is joined with what the machine lacks
// is a failure.
func status(err error) int {
	var lacks machine.LackingError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return exitUsage
	case errors.As(err, &lacks) && lacks.Error() == err.Error():
		return exitLacking
	}
	return 1
}

func check(_ context.Context, args []string) error {
	n, err := needOf(args)
	if err != nil {
		return err
	}
	return machine.Check(n)
}

func prepare(ctx context.Context, args []string) error {
	n, err := needOf(args)
	if err != nil {
		return err
	}
	return machine.Prepare(ctx, n)
}

func key(context.Context, []string) error {
	_, err := fmt.Println(machine.Key())
	return err
}

// needOf is what is to run, as a command line has it.
func needOf(args []string) (n machine.Need, err error) {
	if n.Machines = 2; len(args) == 0 {
		return n, nil
	}
	n.Suites = args[1:]
	if n.Machines, err = strconv.Atoi(args[0]); err != nil || n.Machines < 1 || slices.ContainsFunc(n.Suites, unknown) {
		return n, errUsage
	}
	return n, nil
}

func unknown(suite string) bool { return suite != machine.Bookworm && suite != machine.Trixie }

// hostsOf are the machines of a command line.
func hostsOf(args []string) (hosts []reallab.Host, err error) {
	if len(args) == 0 {
		args = []string{"connectx3", "connectx3"}
	}
	for i, arg := range args {
		kind, suite, _ := strings.Cut(arg, "@")
		h, known := hostOf(kind, fmt.Sprintf("host%d", i+1), i)
		if !known || suite != "" && unknown(suite) {
			return nil, fmt.Errorf("no such machine: %s", arg)
		}
		h.Suite = suite
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// hostOf is a machine with the i-th card of a kind.
func hostOf(kind, name string, i int) (h reallab.Host, known bool) {
	switch kind {
	case "connectx3":
		return reallab.NewHost(name, i), true
	case "connectx4":
		return reallab.NewConnectX4Host(name, i, 1), true
	case "connectx4-dual":
		return reallab.NewConnectX4Host(name, i, 2), true
	}
	return h, false
}

// serve keeps a lab until it is told to end.
func serve(ctx context.Context, args []string) error {
	hosts, err := hostsOf(args)
	if err != nil {
		return err
	}
	if err = machine.Prepare(ctx, machine.Need{Machines: len(hosts)}); err != nil {
		return err
	}
	card.SmallImages() // mstflint reads flash through the configuration space, slowly
	dir, err := os.MkdirTemp("", "reallab")
	if err != nil {
		return err
	}
	l, err := reallab.Start(ctx, dir, hosts)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	names := []string{}
	for name := range l.Machines {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Println("What the machines print, and what the cards do, is in " + dir + ".")
	for _, name := range names {
		fmt.Printf("ssh -i %s -o UserKnownHostsFile=%s -p %d %s@127.0.0.1   # %s\n", l.KeyFile(), l.KnownHostsFile(),
			l.Machines[name].Port, machine.User, name)
	}
	for _, m := range l.Machines {
		context.AfterFunc(ctx, m.Cut)
	}
	for _, name := range names {
		<-l.Machines[name].Ended()
		err = errors.Join(err, l.Machines[name].Err())
	}
	return errors.Join(err, l.Close(), os.RemoveAll(dir))
}
