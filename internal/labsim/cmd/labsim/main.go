// Command labsim talks to a simulated lab that `make lab` keeps running:
//
//	labsim status   --dir DIR
//	labsim evidence --dir DIR
//	labsim exec     --dir DIR HOST COMMAND
//	labsim fault    --dir DIR HOST JSON
//	labsim power    --dir DIR HOST cut|reboot|halt|start
//	labsim cable    --dir DIR HOST PCI_ADDRESS PORT out|in
//	labsim slot     --dir DIR HOST PCI_ADDRESS exchange|renumber|move [NEW_ADDRESS]
//	labsim drift    --dir DIR HOST link-type PCI_ADDRESS PORT | mtu INTERFACE MTU | opensm-stop
//
// It must not contain behaviour of hosts: that belongs into the packages below it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "labsim:", err)
		status = 1
	}
	stop()
	os.Exit(status)
}

const usage = "usage: labsim status|evidence|exec|fault|power|cable|slot|drift --dir DIR [arguments]"

func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 2, errors.New(usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	dir := flags.String("dir", "", "directory of the lab")
	if err := flags.Parse(args[1:]); err != nil {
		return 2, err
	}
	if *dir == "" {
		return 2, errors.New("--dir is required")
	}
	return talk(ctx, control.Dial(*dir), args[0], flags.Args())
}

func talk(ctx context.Context, c *control.Client, verb string, args []string) (int, error) {
	switch verb {
	case "status", "evidence":
		return show(c.Get(ctx, verb))
	case "exec":
		if len(args) != 2 {
			return 2, errors.New("exec needs HOST and COMMAND")
		}
		return execute(ctx, c, args[0], args[1])
	case "power":
		if len(args) != 2 {
			return 2, errors.New("power needs HOST and an action")
		}
		return show(c.Post(ctx, verb, control.Request{Host: args[0], Action: args[1]}))
	case "fault":
		if len(args) != 2 {
			return 2, errors.New("fault needs HOST and the fault as JSON; {} makes the host healthy")
		}
		var spec labsim.FaultSpec
		d := json.NewDecoder(strings.NewReader(args[1]))
		d.DisallowUnknownFields() // a misspelt fault would make the host healthy
		if err := d.Decode(&spec); err != nil {
			return 2, fmt.Errorf("fault: %w; the faults are %s", err, strings.Join(faults(), ", "))
		}
		return show(c.Post(ctx, verb, control.Request{Host: args[0], Fault: &spec}))
	case "cable":
		return cable(ctx, c, args)
	case "slot":
		return slot(ctx, c, args)
	case "drift":
		command, err := driftCommand(args)
		if err != nil {
			return 2, err
		}
		return execute(ctx, c, args[0], command)
	}
	return 2, errors.New(usage)
}

// faults are the names of what can go wrong on a host.
func faults() []string {
	t := reflect.TypeFor[labsim.FaultSpec]()
	names := make([]string, t.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// cable pulls a cable out or puts it back.
func cable(ctx context.Context, c *control.Client, args []string) (int, error) {
	if len(args) != 4 {
		return 2, errors.New("cable needs HOST, PCI_ADDRESS, PORT, and out or in")
	}
	port, err := strconv.Atoi(args[2])
	if err != nil {
		return 2, fmt.Errorf("cable: the port is a number: %w", err)
	}
	return show(c.Post(ctx, "cable", control.Request{Host: args[0], PCI: args[1], Port: port, Action: args[3]}))
}

// slot puts another card into a slot, gives the slots other addresses, or moves a
// card. The host is switched off for it, and on again.
func slot(ctx context.Context, c *control.Client, args []string) (int, error) {
	if len(args) < 3 || args[2] == "move" && len(args) != 4 {
		return 2, errors.New("slot needs HOST, PCI_ADDRESS, and exchange, renumber, or move NEW_ADDRESS")
	}
	q := control.Request{Host: args[0], PCI: args[1], Action: args[2]}
	if len(args) == 4 {
		q.To = args[3]
	}
	return show(c.Post(ctx, "slot", q))
}

const drifts = "link-type PCI_ADDRESS PORT | mtu INTERFACE MTU | opensm-stop"

// driftCommand is what somebody types on a host without telling anybody.
func driftCommand(args []string) (string, error) {
	if len(args) < 2 {
		return "", fmt.Errorf("drift needs HOST and one of: %s", drifts)
	}
	for _, a := range args[2:] {
		if strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789.:_-") != "" {
			return "", fmt.Errorf("%q is no name, address or number", a)
		}
	}
	switch {
	case args[1] == "link-type" && len(args) == 4:
		return fmt.Sprintf("echo eth > /sys/bus/pci/devices/%s/mlx4_port%s", args[2], args[3]), nil
	case args[1] == "mtu" && len(args) == 4:
		return fmt.Sprintf("ip link set dev %s mtu %s", args[2], args[3]), nil
	case args[1] == "opensm-stop" && len(args) == 2:
		// One instance a port; the one without a port is only their parent.
		return "pgrep opensm >/dev/null || { echo 'no opensm runs on this host' >&2; exit 1; }; " +
			"systemctl stop 'opensm@*.service'", nil
	}
	return "", fmt.Errorf("no drift %q with these arguments; after HOST stands one of: %s", args[1], drifts)
}

func execute(ctx context.Context, c *control.Client, host, command string) (int, error) {
	r, err := c.Exec(ctx, host, command)
	if err != nil {
		return 1, err
	}
	fmt.Print(r.Stdout)
	fmt.Fprint(os.Stderr, r.Stderr)
	return r.Exit, nil
}

func show(answer []byte, err error) (int, error) {
	if err != nil {
		return 1, err
	}
	var v any
	if err = json.Unmarshal(answer, &v); err != nil {
		return 1, err
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return 1, err
	}
	fmt.Println(string(text))
	return 0, nil
}
