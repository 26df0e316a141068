package platform

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/modprobe"
)

// ModulesLoadPath is our own list of modules for systemd-modules-load.
const ModulesLoadPath = "/etc/modules-load.d/terraform-infiniband.conf"

// distribution is a Linux distribution with systemd and a package manager.
type distribution struct {
	system
	portTypeStore
}

// Reboot implements Platform.
func (distribution) Reboot(ctx context.Context, h *hosts.Host, policy reboot.Policy) (string, error) {
	return reboot.Run(ctx, h, policy, reboot.Systemd())
}

// Install implements Platform.
func (d distribution) Install(ctx context.Context, h *hosts.Host, packages ...string) error {
	if len(packages) == 0 {
		return nil
	}
	p := d.about.Installer
	missing, err := p.missingPackages(ctx, h, packages)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err = p.get(ctx, h, missing); err != nil {
		return err
	}
	// apt-get ends with 0 also where it was told to skip something.
	missing, err = p.missingPackages(ctx, h, packages)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: %s reported success, but %s does not list %s as installed", h.Name(), p.Program, p.database,
			strings.Join(missing, ", "))
	}
	return nil
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
