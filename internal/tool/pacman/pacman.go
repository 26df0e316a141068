// Package pacman builds the commands that install packages on Arch Linux and
// reads what pacman lists.
//
// It must not run anything.
package pacman

import (
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

const installTimeout = 15 * time.Minute

// Install installs missing packages without asking anything. It does not refresh the
// package lists: a package of today's lists needs today's libraries, and a partial
// upgrade breaks the host. The owner decides when the whole system is upgraded.
func Install(packages ...string) shellcmd.Command {
	args := append([]string{"-S", "--noconfirm", "--needed", "--noprogressbar", "--"}, packages...)
	return shellcmd.New("pacman", args...).AsRoot().Changes().WithTimeout(installTimeout)
}

// Query lists the versions of packages. It exits 1 if one of them is not
// installed and lists the others.
func Query(packages ...string) shellcmd.Command {
	return shellcmd.New("pacman", append([]string{"-Q", "--"}, packages...)...)
}

// ParseQuery returns the versions of the packages that are installed.
func ParseQuery(out []byte) map[string]string {
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		// "error: package 'opensm' was not found" has more words.
		if f := strings.Fields(line); len(f) == 2 {
			versions[f[0]] = f[1]
		}
	}
	return versions
}

// Locked reports whether the database is locked: by another pacman, or by the lock that an
// interrupted one has left.
func Locked(said string) bool { return strings.Contains(said, "could not lock database") }

// FilesInTheWay reports whether files of the package are there that no package has. An
// interrupted installation leaves such files.
func FilesInTheWay(said string) bool { return strings.Contains(said, "exists in filesystem") }
