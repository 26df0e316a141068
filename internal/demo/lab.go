package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/control"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const (
	psidEN  = card.PSIDEN
	psidVPI = card.PSIDVPI
)

// lab is the simulated lab as the demo sees it: hosts to run commands on.
type lab struct {
	*labs.Lab
	say    func(format string, args ...any)
	pci    map[string]string
	checks map[string][]check
}

// check is a command on a host and what its output must show.
type check struct {
	argv  []string
	holds func(output string) error
}

// startLab starts the lab of the example and writes what an operator needs into its directory.
func startLab(dir string, say func(string, ...any)) (*lab, error) {
	started, err := labs.Start(dir, labsim.Options{}, labs.TwoHosts()...)
	if err != nil {
		return nil, err
	}
	if err = control.WriteFiles(started); err != nil {
		started.Close()
		return nil, err
	}
	return watch(started, say), nil
}

// watch gives a lab of two hosts with what they themselves say once the example is
// applied.
func watch(started *labs.Lab, say func(string, ...any)) *lab {
	l := &lab{Lab: started, say: say, pci: map[string]string{}}
	for _, m := range l.Machines() {
		l.pci[m.Name] = m.Config.Cards[0].BDF
	}
	active := matches(`(?s)State: Active.*Physical state: LinkUp.*Base lid: [1-9].*SM lid: [1-9].*State: Active.*Physical state: LinkUp.*Base lid: [1-9].*SM lid: [1-9]`)
	l.checks = map[string][]check{
		labs.Intel9: {
			{[]string{"mstflint", "-d", l.pci[labs.Intel9], "q"},
				contains(psidVPI, "2.42.5000", "e41d2d0300e44ed0 e41d2d0300e44ed1 e41d2d0300e44ed2 e41d2d0300e44ed3")},
			{[]string{"ibstat"}, active},
			{[]string{"sminfo"}, contains("SMINFO_MASTER")},
			{[]string{"ip", "addr", "show", "dev", "ibp1s0"}, contains("172.16.0.20/24")},
			{[]string{"ping", "-c", "3", "172.16.0.10"}, contains(" 0% packet loss")},
		},
		labs.Xeon2zfs: {
			{[]string{"mstflint", "-d", l.pci[labs.Xeon2zfs], "q"},
				contains(psidVPI, "2.42.5000", "e41d2d0300e44ee0 e41d2d0300e44ee1 e41d2d0300e44ee2 e41d2d0300e44ee3")},
			// TrueNAS has no ibstat; the kernel says the same.
			{[]string{"grep", "-H", ".", "/sys/class/infiniband/mlx4_0/ports/1/state",
				"/sys/class/infiniband/mlx4_0/ports/1/lid", "/sys/class/infiniband/mlx4_0/ports/1/sm_lid",
				"/sys/class/infiniband/mlx4_0/ports/2/state", "/sys/class/infiniband/mlx4_0/ports/2/lid",
				"/sys/class/infiniband/mlx4_0/ports/2/sm_lid"},
				matches(`(?s)1/state:4: ACTIVE.*1/lid:0x[1-9a-f].*1/sm_lid:0x[1-9a-f].*2/state:4: ACTIVE.*2/lid:0x[1-9a-f].*2/sm_lid:0x[1-9a-f]`)},
			{[]string{"ip", "addr", "show", "dev", "ibs4d1"}, contains("172.16.0.10/24")},
		},
	}
	return l
}

func contains(texts ...string) func(string) error {
	return func(output string) error {
		for _, t := range texts {
			if !strings.Contains(output, t) {
				return fmt.Errorf("%q is not in the output", t)
			}
		}
		return nil
	}
}

func matches(pattern string) func(string) error {
	re := regexp.MustCompile(pattern)
	return func(output string) error {
		if !re.MatchString(output) {
			return fmt.Errorf("the output does not match %s", pattern)
		}
		return nil
	}
}

// run executes a command as root on a host's console, past Terraform and SSH.
func (l *lab) run(ctx context.Context, host string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out bytes.Buffer
	status := l.Servers[host].Run(ctx, "root", quote(argv), strings.NewReader(""), &out, &out)
	if status != 0 {
		return out.String(), fmt.Errorf("%s on %s ended with status %d: %s", argv[0], host, status,
			strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// typed is a command line as somebody types it.
func typed(argv ...string) string {
	words := slices.Clone(argv)
	for i, w := range words {
		if strings.ContainsAny(w, " \"'{}()<>|&;$*") {
			words[i] = quote([]string{w})
		}
	}
	return strings.Join(words, " ")
}

// show runs a command, prints it with its output, and checks the output.
func (l *lab) show(ctx context.Context, host string, holds func(string) error, argv ...string) error {
	l.say("\n  root@%s:~# %s", host, typed(argv...))
	out, err := l.run(ctx, host, argv...)
	for line := range strings.Lines(out) {
		l.say("    %s", strings.TrimRight(line, "\n"))
	}
	if err != nil {
		return err
	}
	if err := holds(out); err != nil {
		return fmt.Errorf("%s on %s: %w", strings.Join(argv, " "), host, err)
	}
	return nil
}

// evidence asks both hosts with their own tools.
func (l *lab) evidence(ctx context.Context) error {
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		for _, check := range l.checks[host] {
			if err := l.show(ctx, host, check.holds, check.argv...); err != nil {
				return err
			}
		}
	}
	return nil
}

// drift is what somebody does on the hosts without telling anybody.
func (l *lab) drift(ctx context.Context) error {
	anything := func(string) error { return nil }
	for _, change := range []struct {
		host, script string
	}{
		{labs.Xeon2zfs, "ip link set dev ibs4d1 mtu 1500"},
		{labs.Intel9, "echo eth > /sys/bus/pci/devices/" + l.pci[labs.Intel9] + "/mlx4_port2"},
	} {
		if err := l.show(ctx, change.host, anything, "sh", "-c", change.script); err != nil {
			return err
		}
	}
	return l.stopManager(ctx)
}

func (l *lab) stopManager(ctx context.Context) error {
	return l.show(ctx, labs.Intel9, func(string) error { return nil }, "systemctl", "stop",
		"opensm@0xe41d2d0300e44ed1.service")
}

// variablesFile is read by the engine without being named.
func variablesFile(dir string) string { return filepath.Join(dir, "lab.auto.tfvars.json") }
