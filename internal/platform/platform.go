// Package platform knows how each operating system does what the provider needs
// of it: reboot with proof, packages, kernel modules, and the port types of
// mlx4 cards from the next boot on.
//
// It must not decide whether a change is wise, touch a card's flash, configure
// a network interface, or import Terraform.
package platform

import (
	"context"
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Kind names a family of operating systems that is configured in one way, as the
// data source infiniband_host has it.
type Kind string

// Feature is something that may need packages of the distribution.
type Feature string

// The features that need packages.
const (
	FeatureFirmware Feature = "firmware" // mstflint: query and burn
	FeatureOpenSM   Feature = "opensm"   // the subnet manager
	FeatureModules  Feature = "modules"  // kernel modules of InfiniBand
	FeatureRDMA     Feature = "rdma"     // the rules that load the upper modules when a card appears
	// FeatureDiagnostics is ibportstate, ibnetdiscover, saquery and their kin.
	FeatureDiagnostics Feature = "diagnostics"
	// What benchmarks are made with.
	FeatureIperf3   Feature = "iperf3"
	FeatureQperf    Feature = "qperf"
	FeaturePerftest Feature = "perftest"
)

// Platform is one operating system. Implementations hold no state and are safe
// for concurrent use; all state is on the host.
type Platform interface {
	// About is the description of its family.
	About() *Description
	// Name is what messages call it, for example "Ubuntu 24.04".
	Name() string

	// Reboot restarts the host and returns the id of the new boot, read after
	// the host had finished starting. Its error is *RebootError, except for
	// *host.ObserveError.
	Reboot(ctx context.Context, h *hosts.Host, policy RebootPolicy) (bootID string, err error)

	// PackagesFor names the packages of a feature; none where the feature is
	// part of the system or cannot be had. kernel is the running kernel's
	// release, because Ubuntu packs modules per kernel.
	PackagesFor(f Feature, kernel string) []string
	// Install installs packages that are not there and proves that they are
	// there afterwards. A platform without packages returns *UnsupportedError.
	Install(ctx context.Context, h *hosts.Host, packages ...string) error

	// EnsureModules loads kernel modules that are not loaded and has them loaded
	// at every boot.
	EnsureModules(ctx context.Context, h *hosts.Host, modules ...string) error
	// MissingModules names the modules of want that are not loaded now, and
	// those that nothing of ours loads at boot.
	MissingModules(s *inventory.Snapshot, want ...string) (now, boot []string)
	// ModulesStoredIn names where EnsureModules keeps what is loaded at boot.
	ModulesStoredIn() string
	// StoredModules reads what EnsureModules left for the boot.
	StoredModules(s *inventory.Snapshot) fact.Of[[]string]

	portTypeStore
}

// portTypeStore keeps the port types of mlx4 cards for the next boot.
type portTypeStore interface {
	// LinkTypesStoredIn names the mechanism of PersistLinkTypes: "modprobe.d",
	// "mlx4.conf" or "kernel_extra_options".
	LinkTypesStoredIn() string
	// PersistLinkTypes makes mlx4_core give the ports of a card these types from the next
	// boot on. Except in mlx4.conf it is one setting for all mlx4 cards of the host.
	PersistLinkTypes(ctx context.Context, h *hosts.Host, card ib.PCIAddress, types map[int]ib.LinkType) error
	// LinkTypePlaces reads all places that set the types of the card's ports at the next boot.
	LinkTypePlaces(s *inventory.Snapshot, card ib.PCIAddress) Places
}

// Default waiting times.
const (
	// defaultRebootTimeout covers a server whose firmware checks its memory.
	defaultRebootTimeout = 15 * time.Minute
	defaultPoll          = 2 * time.Second
	maxPoll              = 15 * time.Second
)

// RebootPolicy says how a host may be restarted.
type RebootPolicy struct {
	// Timeout bounds the whole, from the request to the finished start; zero
	// means defaultRebootTimeout.
	Timeout time.Duration
	// Reason is kept in the host's log.
	Reason string
	// DrainCommands and ResumeCommands are the user's own shell commands; they
	// run as root before the request and after the start. A drain command that
	// fails stops the reboot.
	DrainCommands, ResumeCommands []string
	// Ready is asked between the drain commands and the request, and stops the reboot by
	// an error; nil asks nothing. Drain commands may take minutes.
	Ready func(context.Context) error
	// Poll is the first pause between two looks at the host; zero means two
	// seconds. Later pauses are longer.
	Poll time.Duration
}

// UnsupportedError says that a platform cannot do something, why, and what to
// do instead.
type UnsupportedError struct {
	Host, Platform, What, Reason, Alternative string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s (%s): %s is not possible: %s. %s", e.Host, e.Platform, e.What, e.Reason, e.Alternative)
}
