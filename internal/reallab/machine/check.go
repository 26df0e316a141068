//go:build linux

package machine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// needed are the programs of the machine that runs the lab, with Debian's package of each.
var needed = [][2]string{{"debootstrap", "debootstrap"}, {"mkfs.ext4", "e2fsprogs"}, {"debugfs", "e2fsprogs"},
	{"ssh-keygen", "openssh-client"}, {"cp", "coreutils"}}

// neededSpace is what systems, disks and two machines take, in bytes.
const neededSpace = 12 << 30

// LackingError says all that a machine lacks, at once.
type LackingError []string

func (e LackingError) Error() string {
	return "this machine cannot run the lab of real kernels:\n- " + strings.Join(e, "\n- ")
}

// Check says whether this machine can run the lab; a LackingError if not.
func Check() error {
	var lacks LackingError
	if runtime.GOARCH != "amd64" {
		lacks = append(lacks, "its processor is "+runtime.GOARCH+"; the kernels of the lab are for amd64")
	}
	if os.Geteuid() != 0 && !exists(guests[Trixie].disk()) {
		lacks = append(lacks, "you are not root: the first run installs Debian, which needs it")
	}
	for _, p := range needed {
		if _, err := exec.LookPath(p[0]); err != nil {
			lacks = append(lacks, fmt.Sprintf("%s is missing (Debian package %s)", p[0], p[1]))
		}
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(existing(cache()), &fs); err == nil && fs.Bavail*uint64(fs.Bsize) < neededSpace {
		lacks = append(lacks, fmt.Sprintf("%s has %d GiB left; 12 are needed", cache(), fs.Bavail*uint64(fs.Bsize)>>30))
	}
	if len(lacks) > 0 {
		return lacks
	}
	return nil
}

// existing is the nearest directory that is there.
func existing(path string) string {
	for !exists(path) && path != "/" {
		path = path[:max(1, strings.LastIndexByte(path, '/'))]
	}
	return path
}
