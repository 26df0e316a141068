//go:build testbed && linux

package testbed

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/fusetree"
)

// programs are those that the machine must have, with the Debian package of each:
// the testbed's own, and those that tests run on the operator's side.
var programs = map[string]string{
	"systemd-nspawn": "systemd-container", "ip": "iproute2", "nsenter": "util-linux", "mount": "mount",
	"chroot": "coreutils",
}

// LackingError says what a machine lacks to run the testbed, one thing a line.
type LackingError []string

func (l LackingError) Error() string {
	return "testbed: this machine cannot run the testbed. It lacks\n  " + strings.Join(l, "\n  ")
}

// machine is what can be seen of a machine from outside.
type machine struct {
	root      bool
	fuse      error // of opening its device
	overlay   bool
	installed bool // the system that hosts run
	has       func(program string) bool
}

// lacks lists all of it at once: who mends one thing should not be told of the next.
func (m machine) lacks() LackingError {
	var (
		lacks    LackingError
		packages []string
	)
	if !m.root {
		lacks = append(lacks, "root: namespaces, mounts and the containers' devices need it")
	}
	if m.fuse != nil {
		lacks = append(lacks, fmt.Sprintf("FUSE, which serves the emulated card: %v", m.fuse))
	}
	need := maps.Clone(programs)
	if !m.installed {
		need["debootstrap"] = "debootstrap" // installs the hosts' system, once
	}
	for _, program := range slices.Sorted(maps.Keys(need)) {
		if !m.has(program) {
			packages = append(packages, need[program])
			lacks = append(lacks, "the program "+program)
		}
	}
	if len(packages) > 0 {
		lacks = append(lacks, "on Debian and Ubuntu: apt-get install --no-install-recommends "+strings.Join(packages, " "))
	}
	if !m.overlay {
		lacks = append(lacks, "overlayfs in this kernel: hosts share one installed system")
	}
	return lacks
}

// findLacking looks for what can be seen from outside.
func findLacking() LackingError {
	m := machine{
		root:      os.Geteuid() == 0,
		installed: installed(),
		has: func(program string) bool {
			_, err := exec.LookPath(program)
			return err == nil
		},
	}
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if m.fuse = err; err == nil {
		_ = f.Close()
	}
	known, err := os.ReadFile("/proc/filesystems")
	// A module that is not loaded yet is not listed.
	m.overlay = err != nil || strings.Contains(string(known), "\toverlay\n") ||
		exec.Command("modprobe", "overlay").Run() == nil //nolint:noctx // ends at once
	return m.lacks()
}

// Check reports whether this machine can run the testbed, with namespaces,
// mounts and interfaces tried out. The error is LackingError if it cannot.
func Check() error {
	if lacks := findLacking(); len(lacks) > 0 {
		return lacks
	}
	if enter(insideMark+"=check") != 0 {
		return LackingError{"namespaces, or what has to work inside them; the reasons are above"}
	}
	return nil
}

// CheckInside is what Check starts in the sandbox. It returns outside of it.
func CheckInside() {
	if os.Getenv(insideMark) != "check" {
		return
	}
	err := settleIn()
	if err == nil {
		err = errors.Join(tryNetwork(), tryFUSE(), tryOverlay())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func tryNetwork() error {
	if err := command("ip", "netns", "add", "check"); err != nil {
		return err
	}
	return command("ip", "link", "add", "check", "type", "veth", "peer", "name", "eno1", "netns", "check")
}

func tryFUSE() error {
	at := runDir + "/fuse"
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	if err := fusetree.Mount(at, dir(func() map[string]entry { return map[string]entry{"there": line("yes")} })); err != nil {
		return err
	}
	// Not from this process, which serves the answer.
	return command("test", "-f", at+"/there")
}

func tryOverlay() error {
	var dirs []any
	for _, name := range []string{"lower", "upper", "work", "root"} {
		at := runDir + "/" + name
		if err := os.MkdirAll(at, 0o700); err != nil {
			return err
		}
		dirs = append(dirs, at)
	}
	return command("mount", "-t", "overlay", "overlay", "-o",
		fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dirs[:3]...), runDir+"/root")
}

// Prepare installs the system if it is not there yet.
func Prepare() error {
	if lacks := findLacking(); len(lacks) > 0 {
		return lacks
	}
	return install()
}
