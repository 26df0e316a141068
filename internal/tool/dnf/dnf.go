// Package dnf builds the commands that install packages on the RHEL family and
// reads what rpm lists.
//
// It must not run anything.
package dnf

import (
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const (
	installTimeout = 15 * time.Minute
	refreshTimeout = 5 * time.Minute
)

// Install installs packages without asking anything and without weak
// dependencies. dnf waits for another dnf by itself, and never replaces a
// configuration file that was edited.
func Install(packages ...string) shellcmd.Command {
	args := append([]string{"install", "-y", "--setopt=install_weak_deps=False", "--"}, packages...)
	return shellcmd.New("dnf", args...).AsRoot().Changes().WithTimeout(installTimeout)
}

// Refresh reads the metadata of the repositories anew.
func Refresh() shellcmd.Command {
	return shellcmd.New("dnf", "makecache", "--refresh").AsRoot().Changes().WithTimeout(refreshTimeout)
}

// Format is the query format that ParseQuery reads.
const Format = `%{NAME}\t%{VERSION}-%{RELEASE}\n`

// Query lists the versions of packages. Its exit status is the number of those
// that are not installed; the others are listed.
func Query(packages ...string) shellcmd.Command {
	return shellcmd.New("rpm", append([]string{"-q", "--qf", Format, "--"}, packages...)...)
}

// ParseQuery returns the versions of the packages that are installed. If several
// versions are installed, as of kernels, the last one counts.
func ParseQuery(out []byte) map[string]string {
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		// "package opensm is not installed" has no tabulator.
		if name, version, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t"); ok {
			versions[name] = version
		}
	}
	return versions
}
