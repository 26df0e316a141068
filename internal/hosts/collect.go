package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
)

// packages are those whose versions matter, in the names of every distribution. The
// extra modules of the running kernel are added.
var packages = []string{
	"mstflint", "opensm", "infiniband-diags", "ibverbs-utils", "rdma-core", "pciutils", "netplan.io", "ifupdown",
	"ifupdown2", "network-manager",
	"NetworkManager", "networkmanager", "libibverbs-utils", "kernel-modules",
}

// collectFrom asks the host once and reads the answer.
func collectFrom(ctx context.Context, h host.Host) (*inventory.Snapshot, error) {
	cmd := collect.Command(collect.Places{StateDir: inventory.StateDir, LockFile: flock.File, Packages: packages})
	result, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	s, err := read(string(result.Stdout))
	var other *NotLinuxError
	if errors.As(err, &other) {
		other.Host = h.Name()
		return nil, other
	}
	if err != nil {
		// The answer as a whole holds every secret of the network configuration;
		// the problem names the line.
		return nil, &host.OutputError{Host: h.Name(), Command: cmd.String(), Problem: err.Error()}
	}
	s.Host, s.Sudo = h.Name(), result.Sudo
	return s, nil
}

// read makes a snapshot of an answer of the collecting script.
func read(output string) (*inventory.Snapshot, error) {
	a, err := collect.Parse(output)
	if err != nil {
		return nil, err
	}
	if run, ok := a.Runs["uname"]; ok && !strings.HasPrefix(run.Output, "Linux ") {
		return nil, &NotLinuxError{System: strings.TrimSpace(run.Output)}
	}
	s := &inventory.Snapshot{
		Derived: new(inventory.Derived),
		UID:     a.UID, Modules: a.Modules, Commands: a.Commands, Hostname: a.Values["/proc/sys/kernel/hostname"].Text,
		StaleInInitramfs: a.StaleInInitramfs,
		NoDisk:           a.NoDisk, Unread: a.Denied,
		BootID: a.Values["/proc/sys/kernel/random/boot_id"].Text, Cmdline: a.Values["/proc/cmdline"].Text,
		MachineID: machineID(a),
	}
	if s.BootID == "" {
		// Without it no restart could be proved.
		return nil, in("kernel", errors.New("no boot id: /proc is not mounted"))
	}
	for _, step := range []func(*inventory.Snapshot, *collect.Answer) error{
		// In this order: cards need users and lockdown, ports need interfaces, jobs need cards and units, and the way
		// to storage needs interfaces.
		readOS, readLockdown, readTool, readUsers, readUnits, readPackages, readKernelModules, readFiles, readStarts,
		readNetdevs, readRoutes, readCards, linkPorts, readJobs, readSpace,
		readTrueNAS, readRoots, readStorage, readServers, readPools, readUPS,
	} {
		if err := step(s, a); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readLockdown reads "none [integrity] confidentiality": the kernel brackets
// what is in force.
func readLockdown(s *inventory.Snapshot, a *collect.Answer) error {
	const file = "/sys/kernel/security/lockdown"
	v, ok := a.Values[file]
	switch {
	case a.Denied[file]:
		s.Lockdown = fact.Unknown[string](file + " could not be read")
		return nil
	case !ok:
		s.Lockdown = fact.Known("")
		return nil
	}
	_, rest, begun := strings.Cut(v.Text, "[")
	mode, _, ended := strings.Cut(rest, "]")
	if !begun || !ended {
		return in("kernel", fmt.Errorf("line %d: no lockdown mode is marked in %q", v.Line, v.Text))
	}
	s.Lockdown = fact.Known(mode)
	return nil
}

func readTool(s *inventory.Snapshot, a *collect.Answer) error {
	s.MSTFlint.Present = a.Commands["mstflint"]
	run, ok := a.Runs["mstflint-v"]
	if !ok || run.Status != 0 {
		// A tool without a readable version is installed; its queries will say what is
		// wrong.
		return nil
	}
	v, err := mstflint.ParseVersion(run.Output)
	if err != nil {
		return in("mstflint -v", err)
	}
	s.MSTFlint.Version = v.String()
	return nil
}

// readUsers reads which other programs used a card. Without such a card there are none.
func readUsers(s *inventory.Snapshot, a *collect.Answer) error {
	s.Users = fact.Known(a.Users)
	if a.UsersWhy != "" {
		s.Users = fact.Unknown[[]inventory.CardUser](a.UsersWhy)
	}
	return nil
}

func readUnits(s *inventory.Snapshot, a *collect.Answer) error {
	s.Units = map[string]inventory.Unit{}
	run, ok := a.Runs["systemctl"]
	switch {
	case !ok || strings.Contains(run.Output, "not been booted with systemd"):
		// A container, or a host with another init system: it has no units.
		return nil
	case run.Status != 0:
		s.UnitsWhy = fmt.Sprintf("systemctl show ended with status %d: %s", run.Status, firstLine(run.Output))
		return nil
	}
	units, err := systemctl.ParseShow(run.Output)
	if err != nil {
		return in("systemctl show", err)
	}
	if len(units) == 0 { // of a unit that it does not know it says so
		s.UnitsWhy = "systemctl show printed no unit"
	}
	s.Units = units
	return nil
}
