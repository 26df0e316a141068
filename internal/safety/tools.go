package safety

import (
	"fmt"
	"strconv"
	"strings"
)

// ToolSupport says how a release of a vendor tool gets on with a generation
// of chips.
type ToolSupport int

// The grades.
const (
	ToolWorks ToolSupport = iota
	ToolUnproven
	ToolCrashes
	ToolRemoved
	ToolTooOld
	ToolUnread // its version is not known
)

// ToolRule is one line of the table of tool releases against formats.
type ToolRule struct {
	Tool   string // "mstflint", "mstconfig"
	Format string // of the chip: "FS2"
	From   string // first release with this behaviour, "4.30"
	Grade  ToolSupport
	Why    string
}

// tooOld says why releases before 4.14 are not used: their tables have other columns
// (21 wide in 4.6, 23 by 4.14), and nobody has held this provider against them.
const tooOld = "releases before 4.14 print in another layout, with which this provider was never tried"

// ToolTable holds what is known, newest behaviour last. Sources: mstflint's
// own history (ConnectX-3 left mstconfig in 4.26.0) and the reports collected
// in its issues 590 and 1157: `mstflint q` ends with a segmentation fault on
// ConnectX-3 from 4.30 on, and has been seen to run again from 4.35 on, through
// another way of access than the usual one. Nothing is known against any
// release for later chips that it knows at all.
var ToolTable = []ToolRule{
	{Tool: "mstflint", Format: "FS2", From: "0", Grade: ToolTooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS2", From: "4.14", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS3", From: "0", Grade: ToolTooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS3", From: "4.14", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS4", From: "0", Grade: ToolTooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS4", From: "4.14", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS2", From: "4.29", Grade: ToolUnproven, Why: "it prints fields of ConnectX-3 from uninitialised memory"},
	{Tool: "mstflint", Format: "FS2", From: "4.30", Grade: ToolCrashes, Why: "it has been seen to crash on ConnectX-3 and ConnectX-3 Pro"},
	{Tool: "mstflint", Format: "FS2", From: "4.35", Grade: ToolCrashes, Why: "releases from 4.30 on crash on ConnectX-3, and of this one it is only known that it runs over the card's configuration space"},
	{Tool: "mstconfig", Format: "FS2", From: "0", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstconfig", Format: "FS2", From: "4.26", Grade: ToolRemoved, Why: "its support of ConnectX-3 was removed in 4.26.0"},
}

// PackageRule is what a distribution's own mstflint means for a chip format.
type PackageRule struct {
	OSID    string // of os-release, or "truenas"
	Release string // begin of VERSION_ID: "9" holds for 9.4; empty: all
	Format  string // empty: all
	Advice  string
}

// debian12 is the package of choice where the distribution's own does not suit
// ConnectX-3.
const debian12 = "take Debian 12's package, mstflint 4.21.0+1-1: apt install ./mstflint_4.21.0+1-1_amd64.deb, then apt-mark hold mstflint."

// PackageTable holds the advice for each distribution; of the lines that fit,
// the last decides. Versions are those of the distributions' own archives.
var PackageTable = []PackageRule{
	{OSID: "debian", Advice: "Install the package: apt install mstflint."},
	{OSID: "debian", Release: "12", Format: "FS2", Advice: "Debian 12 has mstflint 4.21.0+1-1, which suits ConnectX-3: apt install mstflint."},
	{OSID: "debian", Release: "13", Format: "FS2", Advice: "Debian 13 has mstflint 4.31.0, which crashes on ConnectX-3; " + debian12},
	{OSID: "ubuntu", Advice: "Install the package: apt install mstflint."},
	{OSID: "ubuntu", Release: "24.04", Format: "FS2", Advice: "Ubuntu 24.04 has mstflint 4.26.0, which burns ConnectX-3 and cannot configure it: apt install mstflint. To have both, " + debian12},
	{OSID: "rocky", Advice: "Install the package: dnf install mstflint."},
	{OSID: "rocky", Release: "8", Format: "FS2", Advice: "Release 8.10 has mstflint 4.25.0-1, the last that suits ConnectX-3: dnf install mstflint-4.25.0-1."},
	{OSID: "rocky", Release: "9", Format: "FS2", Advice: "Release 9.4 has mstflint 4.25.0-1, the last that suits ConnectX-3; later ones do not: dnf install mstflint-4.25.0-1."},
	{OSID: "rocky", Release: "10", Format: "FS2", Advice: "Release 10 has no driver for ConnectX-3; move the card to a host with Debian 12, Ubuntu 24.04 or release 9."},
	{OSID: "arch", Advice: "Arch has mstflint in its user repository only; build a release that suits the card."},
	{OSID: "arch", Format: "FS2", Advice: "Arch has mstflint in its user repository only; build release 4.25.0 for ConnectX-3."},
	{OSID: "truenas", Advice: "TrueNAS carries mstflint with its system from 25.10 on, and nothing may be installed on it. Update TrueNAS, or move the card to another machine for the time of the burn."},
}

// family maps the distributions that share packages to one.
var family = map[string]string{"rhel": "rocky", "almalinux": "rocky", "centos": "rocky", "ol": "rocky"}

// PackageAdvice says which package to install on a host for chips of a format.
// It is never empty.
func PackageAdvice(host HostFacts, format string) string {
	id := host.OSID
	if host.Platform == "truenas" {
		id = host.Platform
	}
	if f, ok := family[id]; ok {
		id = f
	}
	advice := "Install the package mstflint."
	for _, r := range PackageTable {
		if r.OSID == id && (r.Release == "" || sameRelease(host.Release, r.Release)) && (r.Format == "" || r.Format == format) {
			advice = r.Advice
		}
	}
	if format == "FS2" {
		return "For ConnectX-3 and ConnectX-3 Pro mstflint 4.25 or older is best. " + advice
	}
	return advice
}

// pciutils says how lspci is installed, which reads the vital product data.
func pciutils(host HostFacts) string {
	id := host.OSID
	if f, ok := family[id]; ok {
		id = f
	}
	switch {
	case host.Platform == "truenas":
		return "TrueNAS carries lspci with its system, and nothing may be installed on it. Update TrueNAS."
	case id == "debian" || id == "ubuntu":
		return "Install it on the host: apt install pciutils."
	case id == "rocky" || id == "fedora":
		return "Install it on the host: dnf install pciutils."
	case id == "arch":
		return "Install it on the host: pacman -S pciutils."
	}
	return "Install the package pciutils on the host."
}

// sameRelease reports whether "9.4" is of "9", and "24.04" of "24.04".
func sameRelease(have, want string) bool {
	return have == want || strings.HasPrefix(have, want+".")
}

// KernelRule says that the kernels of a distribution lack a driver.
type KernelRule struct {
	Driver  string
	OSID    string
	Release string // begin of VERSION_ID
	Why     string
}

// KernelTable holds kernels without a driver for a chip. Source: Red Hat's
// kernel configuration, which disables CONFIG_MLX4 from release 10 on.
var KernelTable = []KernelRule{
	{Driver: "mlx4_core", OSID: "rocky", Release: "10", Why: "kernels of RHEL 10 and its kin are built without mlx4, the driver of ConnectX-3"},
}

// CheckKernel says why the host's kernel has no such driver, or "" if nothing
// is known against it.
func CheckKernel(driver string, host HostFacts) string {
	id := host.OSID
	if f, ok := family[id]; ok {
		id = f
	}
	for _, r := range KernelTable {
		if r.Driver == driver && r.OSID == id && sameRelease(host.Release, r.Release) {
			return r.Why
		}
	}
	return ""
}

// CheckTool gives the grade of a tool's release for a chip format, and why.
// A version that cannot be read is no reason to trust the tool.
func CheckTool(tool, version, format string) (ToolSupport, string) {
	if _, ok := release(version); !ok {
		return ToolUnread, fmt.Sprintf("its version is not known: %q is none", version)
	}
	grade, why := ToolWorks, "nothing known against it"
	for _, r := range ToolTable {
		if r.Tool == tool && r.Format == format && atLeast(version, r.From) {
			grade, why = r.Grade, r.Why
		}
	}
	return grade, why
}

func atLeast(version, from string) bool {
	v, _ := release(version)
	f, _ := release(from)
	return v >= f
}

// release turns "4.21.0" into a number that orders by major and minor.
func release(s string) (int, bool) {
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if minor == "" {
		minor = "0"
	}
	a, err := strconv.Atoi(major)
	if err != nil {
		return 0, false
	}
	b, err := strconv.Atoi(minor)
	if err != nil {
		return 0, false
	}
	return a*10000 + b, true
}
