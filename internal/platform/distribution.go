package platform

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/poll"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

// ModulesLoadPath is our own list of modules for systemd-modules-load.
const ModulesLoadPath = "/etc/modules-load.d/terraform-infiniband.conf"

// rebootDelay is the time between the request and the restart. The answer to the
// request must arrive before the connection dies, or it would look like a failed
// request.
const rebootDelay = 2 * time.Second

// rebootPrepared is the time from "systemctl reboot" until systemd says that it stops: logind
// waits for inhibitors first, five seconds unless logind.conf (InhibitDelayMaxSec) says otherwise.
const rebootPrepared = 10 * time.Second

// rebootUnit names the timer of a restart, and the service that it starts.
const rebootUnit = "infiniband-reboot"

// distribution is a Linux distribution with systemd and a package manager.
type distribution struct {
	system
	portTypeStore
}

// Reboot implements Platform.
func (distribution) Reboot(ctx context.Context, h *hosts.Host, policy RebootPolicy) (string, error) {
	return reboot(ctx, h, policy, restart{
		request:  systemdrun.After(rebootDelay, rebootUnit, "systemctl", "reboot"),
		withdraw: stopTimer,
		started:  systemdStarted,
	})
}

// stopTimer stops the timer of a request that failed, and reports whether it is proven that it
// brings no restart. systemd-run fails, too, if the answer of systemd does not come in time;
// systemd has the timer then.
func stopTimer(ctx context.Context, h host.Host, asked time.Time, _ *host.ExitError) bool {
	units := []string{rebootUnit + ".timer", rebootUnit + ".service"}
	// That systemd does not know one of them is an error here. The states decide.
	_, _ = h.Run(ctx, systemctl.Stop(units...))
	if time.Since(asked) >= rebootDelay && poll.Pause(ctx, rebootPrepared) != nil {
		return false
	}
	states, err := stateOf(h.Run(ctx, systemctl.IsActive(units...)))
	each := strings.Fields(states)
	if err != nil || len(each) != len(units) || slices.ContainsFunc(each, func(s string) bool {
		return s != "inactive" && s != "failed" && s != "unknown"
	}) {
		return false
	}
	system, err := stateOf(h.Run(ctx, systemctl.IsSystemRunning()))
	goesOn := []string{"running", "degraded", "maintenance", "starting", "initializing"}
	return err == nil && slices.Contains(goesOn, system)
}

// stateOf is what systemctl says of a state. Its status is not 0 for every state but one.
func stateOf(r host.Result, err error) (string, error) {
	out := string(r.Stdout)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		out, err = exit.Stdout, nil
	}
	return strings.TrimSpace(out), err
}

// systemdStarted asks systemd. "degraded" counts as started: some unit of the host
// failed, which is its owner's matter.
func systemdStarted(ctx context.Context, h host.Host) (bool, string, error) {
	state, err := stateOf(h.Run(ctx, systemctl.IsSystemRunning()))
	if err != nil {
		return false, "", err
	}
	return state == "running" || state == "degraded", "systemd says " + strconv.Quote(state), nil
}

// MissingModules implements Platform.
func (d distribution) MissingModules(s *inventory.Snapshot, want ...string) (now, boot []string) {
	return missingModules(s, d.StoredModules(s).Or(nil), want)
}

// ModulesStoredIn implements Platform.
func (distribution) ModulesStoredIn() string { return ModulesLoadPath }

// StoredModules implements Platform.
func (distribution) StoredModules(s *inventory.Snapshot) fact.Of[[]string] {
	for _, p := range []string{path.Dir(ModulesLoadPath), ModulesLoadPath} {
		if s.Denied[p] {
			return fact.Unknown[[]string](p + " could not be read")
		}
	}
	return fact.Known(modprobe.ParseLoadList(s.Files[ModulesLoadPath].Content))
}

// EnsureModules implements Platform.
func (d distribution) EnsureModules(ctx context.Context, h *hosts.Host, modules ...string) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	now, boot := d.MissingModules(s, modules...)
	for _, m := range now {
		if err := d.loadModule(ctx, h, s.OS.Kernel, m); err != nil {
			return err
		}
	}
	if len(boot) == 0 {
		return nil
	}
	// Modules that an earlier apply listed stay: another resource may need them.
	all := append(d.StoredModules(s).Or(nil), boot...)
	slices.Sort(all)
	text := modulesHeader + strings.Join(slices.Compact(all), "\n") + "\n"
	return WriteFile(ctx, h, ModulesLoadPath, 0o644, text)
}

// modulesHeader differs from that of other files of ours: modules of others stay in this one, and no plan shows them.
const modulesHeader = Owner + " Written by infiniband_opensm, infiniband_ipoib_interface and infiniband_port.\n" +
	"# Modules that systemd loads at boot. The next plan shows a module that was taken out of this list, and the next\n" +
	"# apply adds it again. Other modules stay.\n"

// loadModule loads a module. If the running kernel has no file of it and a package has,
// the package is installed first.
func (d distribution) loadModule(ctx context.Context, h *hosts.Host, kernel, module string) error {
	_, err := h.Run(ctx, modprobe.Load(module))
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	extra := d.PackagesFor(FeatureModules, kernel)
	if !modprobe.NotFound(exit.Stderr) || len(extra) == 0 {
		return fmt.Errorf("loading the kernel module %s: %w", module, err)
	}
	if err := d.Install(ctx, h, extra...); err != nil {
		return fmt.Errorf("kernel %s has no module %s, and the package that holds it cannot be installed: %w", kernel, module,
			err)
	}
	if _, err := h.Run(ctx, modprobe.Load(module)); err != nil {
		return fmt.Errorf("loading the kernel module %s: %w", module, err)
	}
	return nil
}
