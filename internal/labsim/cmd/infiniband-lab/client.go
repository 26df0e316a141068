package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
)

// client talks to a lab that runs.
type client struct {
	dir         string // of the lab; empty if only one runs
	out, errOut io.Writer
}

// actions are the commands that have the host, and some a card and a port, by what the lab is asked for.
var actions = map[string]struct {
	what, action string
	port         bool
}{
	"power-cut": {what: "power", action: "cut"}, "halt": {what: "power", action: "halt"},
	"start": {what: "power", action: "start"}, "reboot": {what: "power", action: "reboot"},
	"unplug": {what: "cable", action: "out", port: true}, "plug": {what: "cable", action: "in", port: true},
	"exchange-card": {what: "slot", action: "exchange"}, "renumber": {what: "slot", action: "renumber"},
	"move-card": {what: "slot", action: "move"},
}

// talk carries out a command other than serve, and returns the exit status.
func (c client) talk(ctx context.Context, verb string, args []string) (int, error) {
	what, q, err := ask(verb, args)
	if err != nil {
		return 2, err
	}
	if c.dir == "" {
		if c.dir, err = running(ctx); err != nil {
			return 1, err
		}
	}
	lab := control.Dial(c.dir)
	switch {
	case what == "exec":
		r, bad := lab.Exec(ctx, q.Host, q.Command)
		if bad != nil {
			return 1, bad
		}
		fmt.Fprint(c.out, r.Stdout)
		fmt.Fprint(c.errOut, r.Stderr)
		return r.Exit, nil
	case q.Host == "":
		return c.show(lab.Get(ctx, what))
	}
	return c.show(lab.Post(ctx, what, q))
}

// running is the directory of the one lab that runs.
func running(ctx context.Context) (string, error) {
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), labDirs+"*", "lab", control.SocketName))
	if err != nil {
		return "", err
	}
	var dirs []string
	for _, socket := range sockets { // that of a lab that was killed answers nobody
		if _, bad := control.Dial(filepath.Dir(socket)).Get(ctx, "status"); bad == nil {
			dirs = append(dirs, filepath.Dir(socket))
		}
	}
	switch len(dirs) {
	case 0:
		return "", errors.New("no lab runs; infiniband-lab serve starts one")
	case 1:
		return dirs[0], nil
	}
	return "", fmt.Errorf("several labs run; say which one behind the command, as in \"infiniband-lab evidence -dir DIR\": %s", strings.Join(dirs, ", "))
}

// ask is what the lab is asked for by a command line.
func ask(verb string, args []string) (what string, q control.Request, err error) {
	if a, ok := actions[verb]; ok {
		q, err = request(verb, args, a.port)
		q.Action = a.action
		return a.what, q, err
	}
	switch verb {
	case "status", "evidence":
		return verb, q, nil
	case "exec":
		if len(args) != 2 {
			return "", q, errors.New("exec needs HOST and COMMAND")
		}
		return verb, control.Request{Host: args[0], Command: args[1]}, nil
	case "fault":
		q, err = fault(args)
		return verb, q, err
	case "drift":
		q.Command, err = driftCommand(args)
		if err != nil {
			return "", q, err
		}
		q.Host = args[0]
		return "exec", q, nil
	}
	return "", q, fmt.Errorf("no command %q; infiniband-lab help says what there is", verb)
}

// request reads the arguments of an action: the host, the card where one is meant, and the port or new address.
func request(verb string, args []string, port bool) (q control.Request, err error) {
	need := map[bool]string{false: "HOST", true: "HOST, the PCI_ADDRESS of the card if it has several, and PORT"}[port]
	least, most := 1, 2
	switch {
	case port:
		least, most = 2, 3
	case verb == "move-card":
		need, least, most = "HOST, PCI_ADDRESS and NEW_ADDRESS", 3, 3
	case actions[verb].what == "power":
		most = 1
	default:
		need = "HOST, and the PCI_ADDRESS of the card if it has several"
	}
	if len(args) < least || len(args) > most {
		return q, fmt.Errorf("%s needs %s", verb, need)
	}
	q.Host = args[0]
	if port {
		if q.Port, err = strconv.Atoi(args[len(args)-1]); err != nil {
			return q, fmt.Errorf("%s: the port is a number, and not %q", verb, args[len(args)-1])
		}
		args = args[:len(args)-1]
	}
	if len(args) > 1 {
		q.PCI = args[1]
	}
	if len(args) > 2 {
		q.To = args[2]
	}
	return q, nil
}

// fault is what shall go wrong on a host from now on.
func fault(args []string) (q control.Request, err error) {
	if len(args) != 2 {
		return q, errors.New("fault needs HOST and the fault as JSON; {} makes the host healthy")
	}
	q = control.Request{Host: args[0], Fault: &labsim.FaultSpec{}}
	d := json.NewDecoder(strings.NewReader(args[1]))
	d.DisallowUnknownFields() // a misspelt fault would make the host healthy
	if err = d.Decode(q.Fault); err != nil {
		return q, fmt.Errorf("fault: %w; the faults are %s", err, strings.Join(faults(), ", "))
	}
	return q, nil
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

func (c client) show(answer []byte, err error) (int, error) {
	if err != nil {
		return 1, err
	}
	var text bytes.Buffer
	if err = json.Indent(&text, bytes.TrimSpace(answer), "", "  "); err != nil {
		return 1, err
	}
	fmt.Fprintln(c.out, text.String())
	return 0, nil
}
