package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
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
	// takeUp ends an installation of the same packages that was interrupted. It gives what
	// must be run before they are installed; found is false where none was interrupted.
	// It is nil where the package manager itself goes on after an interruption.
	takeUp func(ctx context.Context, h *hosts.Host, packages []string, failed *host.ExitError) (
		first []shellcmd.Command, found bool, err error)
	// advice says what to do after a failure that the lists are not the cause of, or that
	// nothing here can mend.
	advice func(failed *host.ExitError, packages []string) string
}

var (
	aptInstaller = Installer{
		Program: "apt-get", database: "dpkg", byHand: "apt install",
		query: apt.Query, installed: apt.ParseQuery, install: apt.Install, refresh: apt.Update,
		takeUp: takeUpDpkg,
	}
	dnfInstaller = Installer{
		Program: "dnf", database: "rpm", byHand: "dnf install",
		query: dnf.Query, installed: dnf.ParseQuery, install: dnf.Install, refresh: dnf.Refresh,
	}
	pacmanInstaller = Installer{
		Program: "pacman", database: "pacman", byHand: "pacman -S",
		query: pacman.Query, installed: pacman.ParseQuery, install: pacman.Install,
		advice: pacmanAdvice,
	}
)

// commonPackages are called so by Debian and Red Hat alike.
var commonPackages = map[Feature][]string{
	FeatureFirmware: {"mstflint"}, FeatureOpenSM: {"opensm"}, FeatureDiagnostics: {"infiniband-diags"},
	FeatureRDMA:   {"rdma-core"},
	FeatureIperf3: {"iperf3"}, FeatureQperf: {"qperf"}, FeaturePerftest: {"perftest"},
}

// get installs. If an earlier installation was interrupted, it ends that one first. If it
// fails otherwise, it tries once more with refreshed lists where the platform allows it:
// old lists usually name versions that the mirror no longer has.
func (p *Installer) get(ctx context.Context, h *hosts.Host, packages []string) error {
	steps := []shellcmd.Command{p.install(packages...)}
	err := runAll(ctx, h, steps)
	exit := exitOf(err)
	if exit != nil && p.takeUp != nil {
		first, found, takeErr := p.takeUp(ctx, h, packages, exit)
		if takeErr != nil {
			return takeErr
		}
		if found {
			steps = append(first, steps...)
			err = runAll(ctx, h, steps)
			exit = exitOf(err)
		}
	}
	switch {
	case err == nil:
		return nil
	case exit == nil:
		return err
	case p.refresh == nil:
		return p.failed(packages, err, "")
	}
	if _, refreshErr := h.Run(ctx, p.refresh()); refreshErr != nil {
		return p.failed(packages, err, fmt.Sprintf("Refreshing the package lists failed too (%s).", refreshErr))
	}
	if err = runAll(ctx, h, steps); err != nil {
		return p.failed(packages, err, "")
	}
	return nil
}

func runAll(ctx context.Context, h *hosts.Host, commands []shellcmd.Command) error {
	for _, cmd := range commands {
		if _, err := h.Run(ctx, cmd); err != nil {
			return err
		}
	}
	return nil
}

func (p *Installer) failed(packages []string, err error, advice string) error {
	err = fmt.Errorf("installing %s: %w", strings.Join(packages, ", "), err)
	if exit := exitOf(err); exit != nil && p.advice != nil {
		advice = p.advice(exit, packages)
	}
	if advice == "" {
		return err
	}
	return &explain.Failure{Err: err, Check: advice}
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
