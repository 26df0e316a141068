package platform

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Description is a family of operating systems. Each has a file of its own, with the
// few things that it does its own way below the description. Findings, messages and the
// tables of the documentation read it. To add a family, write such a file and name it
// in All.
type Description struct {
	Kind  Kind
	Title string // with versions and derivatives, as lists and tables have it
	Short string // as one word in enumerations

	IDs  []string // ID of os-release
	Like []string // ID_LIKE of derivatives
	// Oldest is the first major version that is supported; 0 if any is. SameNumbers
	// says that derivatives share the version numbers of the family.
	Oldest      int
	SameNumbers bool
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

// All are the families, in the order in which ID_LIKE is read: Ubuntu's derivatives
// name Debian as well.
var All = []*Description{&ubuntu, &debian, &rhel, &fedora, &arch, &truenas}

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

func (g *Gap) fits(os inventory.OS, module string) bool {
	return (len(g.Modules) == 0 || slices.Contains(g.Modules, module)) && majorVersion(os.VersionID) >= g.Release &&
		kernelFrom(os.Kernel, g.Kernel) && strings.Contains(os.Kernel, g.Named)
}

// kernelFrom reports whether a release, "6.17.7-300.fc43.x86_64", is of version from or later.
func kernelFrom(release, from string) bool {
	var have, want [2]int
	_, _ = fmt.Sscanf(release, "%d.%d", &have[0], &have[1])
	_, _ = fmt.Sscanf(from, "%d.%d", &want[0], &want[1])
	return slices.Compare(have[:], want[:]) >= 0
}

// supportedSystems names the systems that can be changed, as messages list them.
func supportedSystems() string {
	titles := make([]string, len(All))
	for i, d := range All {
		titles[i] = d.Title
	}
	last := len(titles) - 1
	return strings.Join(titles[:last], "; ") + "; and " + titles[last]
}

// UnknownError says that the operating system of a host is not supported.
type UnknownError struct {
	Host, ID, PrettyName string
	Reason               string // why a known family is not; may be empty
}

func (e *UnknownError) Error() string {
	name := e.PrettyName
	name = cmp.Or(name, e.ID)
	reason := ""
	if e.Reason != "" {
		reason = " (" + e.Reason + ")"
	}
	return fmt.Sprintf("%s runs %q, which is not supported%s: its cards can be read, but nothing on it can be changed. "+
		"Supported are %s",
		e.Host, name, reason, supportedSystems())
}

// Of tells from a snapshot which platform a host is. Another system than the
// supported ones is *UnknownError.
func Of(s *inventory.Snapshot) (Platform, error) {
	unknown := &UnknownError{Host: s.Host, ID: s.OS.ID, PrettyName: s.OS.PrettyName}
	d, own := describe(s.OS)
	if d == nil {
		return nil, unknown
	}
	if version := majorVersion(s.OS.VersionID); (own || d.SameNumbers) && version > 0 && version < d.Oldest {
		unknown.Reason = fmt.Sprintf("older than %d", d.Oldest)
		return nil, unknown
	}
	is := system{d, d.nameOf(s.OS)}
	if d.platform != nil {
		return d.platform(is), nil
	}
	return distribution{is, d.portTypes}, nil
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

// describe finds the family of a system; own if it is not a derivative.
func describe(os inventory.OS) (d *Description, own bool) {
	for _, d := range All {
		if slices.Contains(d.IDs, os.ID) {
			return d, true
		}
	}
	for _, d := range All {
		for like := range strings.FieldsSeq(os.IDLike) {
			if slices.Contains(d.Like, like) {
				return d, false
			}
		}
	}
	return nil, false
}

// nameOf is what messages call a system.
func (d *Description) nameOf(os inventory.OS) string {
	if d.called != nil {
		if name := d.called(os); name != "" {
			return strings.TrimSpace(name)
		}
	}
	if os.PrettyName != "" {
		return os.PrettyName
	}
	return strings.TrimSpace(os.ID + " " + os.VersionID)
}

// LinkTypesIn names what keeps the port types of mlx4 cards for the next boot.
func (d *Description) LinkTypesIn() string { return d.portTypes.LinkTypesStoredIn() }

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
