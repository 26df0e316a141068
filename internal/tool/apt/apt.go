// Package apt builds the commands that install packages on Debian and Ubuntu
// and reads what dpkg lists.
//
// It must not run anything.
package apt

import (
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const (
	installTimeout = 15 * time.Minute
	updateTimeout  = 5 * time.Minute
	// lockWait is how long apt-get waits for another one, such as the automatic
	// upgrades of Ubuntu.
	lockWait = "DPkg::Lock::Timeout=300"
)

// Install installs packages without asking anything and without recommended
// ones. A configuration file that is there already is kept.
func Install(packages ...string) shellcmd.Command {
	return install(append([]string{"--"}, packages...)...)
}

func install(more ...string) shellcmd.Command {
	args := []string{
		"DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends",
		"-o", lockWait, "-o", "Dpkg::Options::=--force-confold",
	}
	return shellcmd.New("env", append(args, more...)...).AsRoot().Changes().WithTimeout(installTimeout)
}

// Update refreshes the package lists.
func Update() shellcmd.Command {
	return shellcmd.New("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "update", "-o", lockWait).
		AsRoot().Changes().WithTimeout(updateTimeout)
}

// Query lists the state of packages. It exits 1 if one of them is unknown to
// dpkg and lists the others.
func Query(packages ...string) shellcmd.Command {
	args := append([]string{"-W", "-f", `${Package}\t${db:Status-Abbrev}\t${Version}\n`, "--"}, packages...)
	return shellcmd.New("dpkg-query", args...)
}

// ParseQuery returns the versions of the packages that are installed
// completely, whatever is wanted of them next: one on hold ("hi ") is installed as
// well. A package that was removed but left its configuration behind is not one of
// them, nor is one that dpkg would have reinstalled.
func ParseQuery(out []byte) map[string]string {
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) == 3 && len(f[1]) > 1 && strings.TrimSpace(f[1][1:]) == "i" {
			versions[f[0]] = f[2]
		}
	}
	return versions
}
