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
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
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

// Description is a family of operating systems. Each has a file of its own, with the
// few things that it does its own way below the description. Findings, messages and the
// tables of the documentation read it. To add a family, write such a file and name it
// in All.
type Description struct {
	Kind  Kind
	Title string // with releases, as lists and tables have it
	Short string // as one word in enumerations

	// IDs are those of os-release. What names the family in ID_LIKE is another system, with
	// kernels, packages and files of its own.
	IDs []string
	// Releases are begins of VERSION_ID: "9" holds for 9.4. Empty: all from the major version
	// Oldest on.
	Releases []string
	Oldest   int
	// called is its own way to name a system; empty or nil: PRETTY_NAME.
	called func(os inventory.OS) string

	// Installer is nil where nothing can be installed.
	Installer *Installer
	// Packages are those of each feature. A feature without an entry needs none, or cannot be had.
	Packages map[Feature][]string
	// kernelModules are packages of modules that depend on the running kernel.
	kernelModules func(kernel string) []string
	// ByHand says where software comes from that its repositories lack.
	ByHand string
	// Tools is advice on its own mstflint; of the entries that fit, the last counts.
	Tools []ToolAdvice

	Gaps []Gap // cards that its kernels do not drive
	// DropsModules says that an upgrade of the kernel removes the running one's modules.
	DropsModules bool

	// Stacks are what its installers leave to configure the network, the usual one first.
	// What a host really has is found on the host.
	Stacks []string
	// portTypes keeps the port types of mlx4 cards. Initramfs names the program that
	// rebuilds the initial RAM disk after a change; empty where none has to be rebuilt.
	portTypes portTypeStore
	Initramfs string
	// OneSM says that its package of opensm runs one subnet manager for the host. The
	// template unit for one port is ours then.
	OneSM bool
	// SMFiles is the directory that its opensm is built with; empty: /etc/opensm/.
	SMFiles string
	// Note is what else its users should know, for the table of the documentation.
	Note string

	// platform makes the Platform if the family is not a distribution with systemd and
	// packages.
	platform func(system) Platform
}

// LinkTypesIn names what keeps the port types of mlx4 cards for the next boot.
func (d *Description) LinkTypesIn() string { return d.portTypes.LinkTypesStoredIn() }

// ToolAdvice says which package of mstflint suits the chips of a format.
type ToolAdvice struct {
	Release string // begin of VERSION_ID: "9" holds for 9.4; empty: all
	Format  string // "FS2"; empty: all
	Advice  string
}

// Gap is a reason why kernels lack modules, as far as it is known from the
// configurations and packages of distributions.
type Gap struct {
	Modules []string // empty: any
	// Release is the first major version of the distribution that has the gap, Kernel the
	// first version of the kernel, Named a part of the kernel's release; empty: all.
	Release       int
	Kernel, Named string
	// Old says that the kernel has the module but excludes cards that are older than any
	// that this provider burns.
	Old         bool
	Why, WayOut string
	Cards       string // as the table of the documentation says it; empty: not there
}

// system is what all platforms have of their description.
type system struct {
	about *Description
	name  string
}

// About implements Platform.
func (s system) About() *Description { return s.about }

// Name implements Platform.
func (s system) Name() string { return s.name }

// PackagesFor implements Platform.
func (s system) PackagesFor(f Feature, kernel string) []string {
	if f == FeatureModules && s.about.kernelModules != nil {
		return s.about.kernelModules(kernel)
	}
	return s.about.Packages[f]
}

// majorVersion gives 9 for "9.4" and 6 for "6.8.0-49-generic"; 0 for a rolling or
// unreleased system.
func majorVersion(version string) int {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

// Platform is one operating system. Implementations hold no state and are safe
// for concurrent use; all state is on the host.
type Platform interface {
	// About is the description of its family.
	About() *Description
	// Name is what messages call it, for example "Ubuntu 24.04".
	Name() string

	// Reboot restarts the host and returns the id of the new boot, read after
	// the host had finished starting. Its error is *reboot.Error, except for
	// *host.ObserveError.
	Reboot(ctx context.Context, h *hosts.Host, policy reboot.Policy) (bootID string, err error)

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

// UnsupportedError says that a platform cannot do something, why, and what to
// do instead.
type UnsupportedError struct {
	Host, Platform, What, Reason, Alternative string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("%s (%s): %s is not possible: %s. %s", e.Host, e.Platform, e.What, e.Reason, e.Alternative)
}
