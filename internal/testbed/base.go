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
	"strings"
	"syscall"
	"time"
)

// release is the Debian that hosts run: the last whose mstflint (4.21) burns and
// configures ConnectX-3.
const release = "bookworm"

// packages are installed beside the minimal system.
var packages = []string{
	"systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "iproute2", "iputils-ping", "kmod", "pciutils", "procps", "mstflint",
}

// baseFiles turn the installed system into a host. The first two let the
// provider take it for a system that it knows.
var baseFiles = map[string]string{
	"etc/os-release": "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n" +
		"PRETTY_NAME=\"Ubuntu 24.04 (testbed, really Debian 12)\"\n",
	"etc/sudoers.d/testbed":                    User + " ALL=(ALL:ALL) NOPASSWD: ALL\n",
	"etc/ssh/sshd_config.d/testbed.conf":       "PasswordAuthentication no\nPermitRootLogin no\nUseDNS no\nMaxSessions 50\nMaxStartups 100\n",
	"etc/systemd/journald.conf.d/testbed.conf": "[Journal]\nStorage=persistent\nSyncIntervalSec=1s\n",
}

// masked units would slow a boot down or wait for hardware.
var masked = []string{
	"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer", "man-db.timer",
	"console-getty.service", "getty.target", "systemd-networkd-wait-online.service", "e2scrub_reap.service", "systemd-pstore.service",
	"systemd-firstboot.service", "ldconfig.service", "systemd-update-utmp-runlevel.service", "systemd-binfmt.service",
}

// User logs in on every host and may use sudo without a password.
const User = "ops"

const userID = 1000

// baseDir is where the installed system is kept. Its name holds all that makes
// one differ from another.
func baseDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = "/var/cache"
	}
	h := sha256.New()
	fmt.Fprintln(h, 1, release, packages, masked, baseFiles)
	return filepath.Join(cache, "terraform-provider-infiniband", "testbed-"+hex.EncodeToString(h.Sum(nil))[:12])
}

func baseReady() bool {
	_, err := os.Stat(baseDir())
	return err == nil
}

// buildBase installs the system unless it is there: minutes once, then nothing.
// Two runs at once build it once.
func buildBase() error {
	at := baseDir()
	if baseReady() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // hosts' users read the system
		return err
	}
	lock, err := os.OpenFile(at+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("testbed: wait for another run that builds %s: %w", at, err)
	}
	if baseReady() {
		return nil
	}
	fmt.Fprintf(os.Stderr, "testbed: installing Debian %s into %s, once; this takes some minutes\n", release, at)
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
	return os.Rename(building, at)
}

func debootstrap(at string) error {
	args := []string{"--variant=minbase", "--include=" + strings.Join(packages, ","), release, at}
	// Without one debootstrap takes the mirror that it was built with.
	if mirror := os.Getenv("TESTBED_MIRROR"); mirror != "" {
		args = append(args, mirror)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "debootstrap", args...) //nolint:gosec // fixed but for the mirror
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// What it mounts and starts must not stay behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("testbed: debootstrap of Debian %s: %w\n%s", release, err, lastLines(string(out), 15)), os.RemoveAll(at))
	}
	return nil
}

func furnish(root string) error {
	for name, text := range baseFiles {
		file := filepath.Join(root, name)
		// os-release is a link to what the system's own package owns.
		_ = os.Remove(file)
		if err := writeFile(file, text, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, "etc/sudoers.d/testbed"), 0o440); err != nil { //nolint:gosec // sudo wants it so
		return err
	}
	for _, unit := range masked {
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
	return command("chroot", root, "useradd", "--create-home", "--uid", fmt.Sprint(userID), "--shell", "/bin/bash", User)
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
