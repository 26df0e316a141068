package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/apt"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/dnf"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/pacman"
)

// Installer is a package manager and the database that proves what it did.
type Installer struct {
	Program, database string // as messages name them
	byHand            string // what a person types before the names
	query             func(packages ...string) shellcmd.Command
	installed         func(out []byte) map[string]string
	install           func(packages ...string) shellcmd.Command
	// refresh updates the package lists; nil where that requires an upgrade of the whole
	// system.
	refresh func() shellcmd.Command
	// stale says what to do if lists are old and refresh is nil.
	stale string
}

var (
	aptInstaller = Installer{
		Program: "apt-get", database: "dpkg", byHand: "apt install",
		query: apt.Query, installed: apt.ParseQuery, install: apt.Install, refresh: apt.Update,
	}
	dnfInstaller = Installer{
		Program: "dnf", database: "rpm", byHand: "dnf install",
		query: dnf.Query, installed: dnf.ParseQuery, install: dnf.Install, refresh: dnf.Refresh,
	}
	pacmanInstaller = Installer{
		Program: "pacman", database: "pacman", byHand: "pacman -S",
		query: pacman.Query, installed: pacman.ParseQuery, install: pacman.Install,
		stale: "If the package lists are old, upgrade the system first (pacman -Syu): packages are not added to a system " +
			"that is upgraded in part",
	}
)

// commonPackages are called so by Debian and Red Hat alike.
var commonPackages = map[Feature][]string{
	FeatureFirmware: {"mstflint"}, FeatureOpenSM: {"opensm"}, FeatureDiagnostics: {"infiniband-diags"},
	FeatureRDMA:   {"rdma-core"},
	FeatureIperf3: {"iperf3"}, FeatureQperf: {"qperf"}, FeaturePerftest: {"perftest"},
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

// get installs. If that fails, it tries once more with refreshed lists where the
// platform allows it: old lists usually name versions that the mirror no longer has.
func (p *Installer) get(ctx context.Context, h *hosts.Host, packages []string) error {
	names := strings.Join(packages, ", ")
	_, err := h.Run(ctx, p.install(packages...))
	var exit *host.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if p.refresh == nil {
		return fmt.Errorf("installing %s: %w. %s", names, err, p.stale)
	}
	if _, refreshErr := h.Run(ctx, p.refresh()); refreshErr != nil {
		return fmt.Errorf("installing %s: %w; refreshing the package lists failed too: %w", names, err, refreshErr)
	}
	if _, err = h.Run(ctx, p.install(packages...)); err != nil {
		return fmt.Errorf("installing %s: %w", names, err)
	}
	return nil
}

func (p *Installer) missingPackages(ctx context.Context, h *hosts.Host, packages []string) ([]string, error) {
	r, err := h.Run(ctx, p.query(packages...))
	out := string(r.Stdout)
	var exit *host.ExitError
	if errors.As(err, &exit) && exit.Status <= len(packages) {
		// dpkg-query and pacman end with 1 if one of the names is unknown to them,
		// rpm with the number of those that are.
		out, err = exit.Stdout, nil
	}
	if err != nil {
		return nil, err
	}
	installed := p.installed([]byte(out))
	return slices.DeleteFunc(slices.Clone(packages), func(name string) bool { return installed[name] != "" }), nil
}

// MissingPackages names the packages of a feature that a host does not have, so
// that a plan can say what an apply will install.
func MissingPackages(p Platform, s *inventory.Snapshot, f Feature) []string {
	return slices.DeleteFunc(slices.Clone(p.PackagesFor(f, s.OS.Kernel)),
		func(name string) bool { return s.Packages[name] != "" })
}
