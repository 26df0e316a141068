package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/apt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemctl"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/systemdrun"
)

// ModulesLoadPath is our own list of modules for systemd-modules-load.
const ModulesLoadPath = "/etc/modules-load.d/terraform-infiniband.conf"

// rebootDelay is long enough for the answer to the request to arrive, so that
// the death of the connection is not mistaken for its failure.
const rebootDelay = 2 * time.Second

// ubuntu is Ubuntu Server: apt, systemd, initramfs-tools.
type ubuntu struct{ version string }

func (ubuntu) Kind() Kind     { return KindUbuntu }
func (u ubuntu) Name() string { return "Ubuntu " + u.version }

// Reboot implements Platform.
func (ubuntu) Reboot(ctx context.Context, h *inventory.Host, policy RebootPolicy) (string, error) {
	return reboot(ctx, h, policy, restart{
		request: systemdrun.After(rebootDelay, "infiniband-reboot", "systemctl", "reboot"),
		started: ubuntuStarted,
	})
}

// ubuntuStarted asks systemd. "degraded" has finished starting too: some unit
// of the host failed, which is its owner's matter.
func ubuntuStarted(ctx context.Context, h host.Host) (bool, string, error) {
	r, err := h.Run(ctx, systemctl.IsSystemRunning())
	out := string(r.Stdout)
	var exit *host.ExitError
	if errors.As(err, &exit) {
		// It exits 1 for every state but "running".
		out, err = exit.Stdout, nil
	}
	if err != nil {
		return false, "", err
	}
	state := strings.TrimSpace(out)
	return state == "running" || state == "degraded", "systemd says " + strconv.Quote(state), nil
}

// PackagesFor implements Platform.
func (ubuntu) PackagesFor(f Feature, kernel string) []string {
	switch f {
	case FeatureFirmware:
		return []string{"mstflint"}
	case FeatureOpenSM:
		return []string{"opensm"}
	case FeatureDiagnostics:
		return []string{"infiniband-diags"}
	case FeatureModules:
		// The GA kernel 6.8 has mlx4_ib, ib_ipoib and ib_umad in a package of
		// their own; from the 7.0 HWE kernel on they are in linux-modules.
		if major, _, _ := strings.Cut(kernel, "."); kernel != "" && atoi(major) < 7 {
			return []string{"linux-modules-extra-" + kernel}
		}
	}
	return nil
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// Install implements Platform.
func (ubuntu) Install(ctx context.Context, h *inventory.Host, packages ...string) error {
	missing, err := notInstalled(ctx, h, packages)
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = h.Run(ctx, apt.Install(missing...))
	if err != nil {
		var exit *host.ExitError
		if !errors.As(err, &exit) {
			return err
		}
		// The usual cause on a host that was installed long ago: package lists
		// that name versions the mirror no longer has.
		if _, updateErr := h.Run(ctx, apt.Update()); updateErr != nil {
			return fmt.Errorf("installing %s: %w; refreshing the package lists failed too: %w", strings.Join(missing, ", "), err, updateErr)
		}
		if _, err = h.Run(ctx, apt.Install(missing...)); err != nil {
			return fmt.Errorf("installing %s: %w", strings.Join(missing, ", "), err)
		}
	}
	// apt-get ends with 0 also where it was told to skip something.
	missing, err = notInstalled(ctx, h, packages)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: apt-get reported success, but dpkg does not list %s as installed", h.Name(), strings.Join(missing, ", "))
	}
	return nil
}

func notInstalled(ctx context.Context, h *inventory.Host, packages []string) ([]string, error) {
	cmd := apt.Query(packages...)
	r, err := h.Run(ctx, cmd)
	out := string(r.Stdout)
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Status == 1 {
		// dpkg-query ends with 1 if one of the names is unknown to it.
		out, err = exit.Stdout, nil
	}
	if err != nil {
		return nil, err
	}
	installed := apt.ParseQuery([]byte(out))
	return slices.DeleteFunc(slices.Clone(packages), func(p string) bool { return installed[p] != "" }), nil
}

// MissingModules implements Platform.
func (ubuntu) MissingModules(s *inventory.Snapshot, want ...string) (now, boot []string) {
	return missingModules(s, modprobe.ParseLoadList(s.Files[ModulesLoadPath].Content), want)
}

// EnsureModules implements Platform.
func (u ubuntu) EnsureModules(ctx context.Context, h *inventory.Host, modules ...string) error {
	s, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	now, boot := u.MissingModules(s, modules...)
	for _, m := range now {
		if err := u.loadModule(ctx, h, s.OS.Kernel, m); err != nil {
			return err
		}
	}
	if len(boot) == 0 {
		return nil
	}
	// Modules that an earlier apply listed stay: another resource needs them.
	all := append(modprobe.ParseLoadList(s.Files[ModulesLoadPath].Content), boot...)
	slices.Sort(all)
	text := OwnedHeader("infiniband_opensm and infiniband_ipoib_interface") +
		"# Modules that systemd loads at boot.\n" + strings.Join(slices.Compact(all), "\n") + "\n"
	return WriteFile(ctx, h, ModulesLoadPath, 0o644, text)
}

// loadModule loads a module; one that the running kernel has no file of is
// installed first.
func (u ubuntu) loadModule(ctx context.Context, h *inventory.Host, kernel, module string) error {
	_, err := h.Run(ctx, modprobe.Load(module))
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	extra := u.PackagesFor(FeatureModules, kernel)
	if !modprobe.NotFound(exit.Stderr) || len(extra) == 0 {
		return fmt.Errorf("loading the kernel module %s: %w", module, err)
	}
	if err := u.Install(ctx, h, extra...); err != nil {
		return fmt.Errorf("kernel %s has no module %s, and the package that holds it cannot be installed: %w", kernel, module, err)
	}
	if _, err := h.Run(ctx, modprobe.Load(module)); err != nil {
		return fmt.Errorf("loading the kernel module %s: %w", module, err)
	}
	return nil
}
