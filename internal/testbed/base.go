//go:build testbed && linux

package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// suite is Debian 12, the last whose mstflint (4.21) burns and configures ConnectX-3.
const suite = "bookworm"

// hostPackages are what a host cannot do without, and what is asked of its card.
var hostPackages = []string{
	"systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "iproute2", "kmod", "procps", "mstflint", "pciutils",
}

// hostFiles turn an installed system into a host. It says Ubuntu, which the provider
// takes for a system that it knows.
var hostFiles = map[string]string{
	"etc/os-release": "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n" +
		"PRETTY_NAME=\"Ubuntu 24.04 (testbed, really Debian 12)\"\n",
	"etc/sudoers.d/testbed": User + " ALL=(ALL:ALL) NOPASSWD: ALL\n",
	"etc/ssh/sshd_config.d/testbed.conf": "PasswordAuthentication no\nPermitRootLogin no\nUseDNS no\nMaxSessions " +
		"50\nMaxStartups 100\n",
	"etc/systemd/journald.conf.d/testbed.conf": "[Journal]\nStorage=persistent\nSyncIntervalSec=1s\n",
}

// hostMasked are units that slow a boot down or wait for hardware.
var hostMasked = []string{
	"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
	"man-db.timer",
	"console-getty.service", "getty.target", "systemd-networkd-wait-online.service", "e2scrub_reap.service",
	"systemd-pstore.service",
	"systemd-firstboot.service", "ldconfig.service", "systemd-update-utmp-runlevel.service", "systemd-binfmt.service",
}

// User logs in on every host and may use sudo without a password.
const User = "ops"

const userID = 1000

// installTimeout bounds the installation, on a slow line.
const installTimeout = 15 * time.Minute

// baseDir is where the system that all hosts run is kept between runs. Its name holds
// all that makes one differ from another.
func baseDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = "/var/cache"
	}
	h := sha256.New()
	fmt.Fprintln(h, 1, suite, hostPackages, hostMasked, hostFiles)
	return filepath.Join(cache, "terraform-provider-infiniband", "testbed-"+suite+"-"+hex.EncodeToString(h.Sum(nil))[:12])
}

func installed() bool {
	_, err := os.Stat(baseDir())
	return err == nil
}

// install installs the system unless it is there: a minute or two once, then nothing.
// Two runs at once install it once.
func install() error {
	at := baseDir()
	if installed() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // hosts' users read the system
		return err
	}
	lock, err := os.OpenFile(at+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("testbed: wait for another run that installs %s: %w", at, err)
	}
	if installed() {
		return nil
	}
	begin := time.Now()
	fmt.Fprintf(os.Stderr, "testbed: installing Debian %s into %s, once\n", suite, at)
	building := at + ".new" // of a run that was stopped, if it is there
	if err := os.RemoveAll(building); err != nil {
		return err
	}
	if err := debootstrap(building); err != nil {
		return err
	}
	if err := furnish(building); err != nil {
		return fmt.Errorf("testbed: prepare %s: %w", building, err)
	}
	fmt.Fprintf(os.Stderr, "testbed: installed in %s\n", time.Since(begin).Round(time.Second))
	return os.Rename(building, at)
}

func debootstrap(at string) error {
	args := []string{"--variant=minbase", "--include=" + strings.Join(hostPackages, ","), suite, at}
	// Without one debootstrap takes the mirror that it was built with.
	if mirror := os.Getenv("TESTBED_MIRROR"); mirror != "" {
		args = append(args, mirror)
	}
	if err := runIsolated("debootstrap", args...); err != nil {
		return errors.Join(fmt.Errorf("testbed: debootstrap of Debian %s (TESTBED_MIRROR names another mirror): %w", suite,
			err), os.RemoveAll(at))
	}
	return nil
}

// runIsolated runs an installation. What it mounts and starts ends with it, and it
// with this program.
func runIsolated(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	// The signal for the death of the parent comes when the thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // fixed but for the mirror and paths of ours
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, lastLines(string(out), 15))
	}
	return nil
}

func furnish(root string) error {
	for name, text := range hostFiles {
		file := filepath.Join(root, name)
		// os-release is a link to what the system's own package owns.
		_ = os.Remove(file)
		if err := writeFile(file, text, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, "etc/sudoers.d/testbed"), //nolint:gosec // sudo wants it so
		0o440); err != nil {
		return err
	}
	for _, unit := range hostMasked {
		at := filepath.Join(root, "etc/systemd/system", unit)
		if err := os.Symlink("/dev/null", at); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	for _, name := range []string{"ecdsa", "rsa", "ed25519"} {
		// Every host gets a key of its own.
		_ = os.Remove(filepath.Join(root, "etc/ssh/ssh_host_"+name+"_key"))
		_ = os.Remove(filepath.Join(root, "etc/ssh/ssh_host_"+name+"_key.pub"))
	}
	return command("chroot", root, "useradd", "--create-home", "--uid", strconv.Itoa(userID), "--shell", "/bin/bash", User)
}

func writeFile(at, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // a system's own directories
		return err
	}
	return os.WriteFile(at, []byte(text), mode)
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
