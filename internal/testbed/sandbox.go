//go:build testbed && linux

package testbed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideMark tells the process in the sandbox from the one outside.
const insideMark = "TESTBED_INSIDE"

// runDir is where hosts live in the sandbox: memory that nobody else sees.
const runDir = "/run/testbed"

// Main runs the tests of a package in namespaces of their own, so that mounts,
// interfaces and containers end with the process, however it ends. It installs
// the system that hosts run if it is not there. On a machine that cannot run
// the testbed it says what is missing, and the tests fail.
func Main(run func() int) {
	if os.Getenv(insideMark) != "" {
		if err := settleIn(); err != nil {
			fmt.Fprintln(os.Stderr, "testbed: set up the sandbox:", err)
			os.Exit(1)
		}
		os.Exit(run())
	}
	if isListing() {
		os.Exit(run())
	}
	if err := Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(enter(insideMark + "=tests"))
}

// isListing reports whether the tests are only to be listed.
func isListing() bool {
	for _, a := range os.Args[1:] {
		if strings.HasPrefix(a, "-test.list=") && a != "-test.list=" {
			return true
		}
	}
	return false
}

// enter starts this program again, in the sandbox, and gives its exit status.
func enter(mark string) int {
	// The signal for the death of the parent comes when the thread that made the
	// child ends, so it must not.
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:gosec,noctx // this very program; it ends with its tests
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(1, exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed: enter the sandbox:", err)
		return 1
	}
	return 0
}

// settleIn makes the new namespaces usable.
func settleIn() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	for at, kind := range map[string]string{"/proc": "proc", "/run": "tmpfs"} {
		if err := unix.Mount(kind, at, kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", at, err)
		}
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil { //nolint:gosec // hosts' users walk through it
		return err
	}
	// Hosts must not reach each other by way of the operator, whatever the machine does.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0\n"), //nolint:gosec // it is there
		0o644); err != nil {
		return err
	}
	return command("ip", "link", "set", "lo", "up")
}

// command runs a short program and reports what it said if it failed.
func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput() //nolint:gosec,noctx // fixed programs that end at once
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
