//go:build testbed && linux

package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Base is a system that hosts run: what is installed on the disk that they share.
// Packages that need other configuration at install time than apt's defaults do
// not fit in here.
type Base struct {
	Suite    string            // of Debian, "bookworm" or "trixie"
	Packages []string          // beside hostPackages
	Later    []string          // packages that debootstrap cannot install, which knows no triggers
	Files    map[string]string // beside hostFiles
	Masked   []string          // units beside hostMasked
	Disabled []string          // units that do not start at boot
}

// Firmware is Debian 12, the last whose mstflint (4.21) burns and configures
// ConnectX-3, with what a fabric is managed and looked at with. It says Ubuntu, which the provider takes for a system
// that it knows.
var Firmware = Base{
	Suite: "bookworm", Packages: []string{"mstflint", "pciutils", "opensm",
		"infiniband-diags"}, Disabled: []string{"opensm.service"},
	Files: map[string]string{
		"etc/os-release": "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n" +
			"PRETTY_NAME=\"Ubuntu 24.04 (testbed, really Debian 12)\"\n",
		"etc/default/opensm": noOpensm,
	},
}

// noOpensm keeps opensm off every port.
const noOpensm = "PORTS=\"NONE\"\n"

// Bookworm and Trixie are Debian 12 and 13 with every network stack that Debian
// has, of which one is in use on a host (see Stack), with what a fabric is managed
// and measured with, and a firewall.
var (
	Bookworm = networkedBase("bookworm")
	Trixie   = networkedBase("trixie")
)

// networkedBase is a system whose network the host configures by itself. All of its
// stacks in one cost half the disk and a fifth of the time of one system for each;
// on real hosts, too, those that are not in use are often installed.
func networkedBase(suite string) Base {
	return Base{
		Suite: suite,
		Packages: []string{
			"udev", "ifupdown", "ethtool", "mstflint", "pciutils", "opensm", "infiniband-diags", "iperf3", "qperf", "perftest",
			"nftables",
		},
		Later:    []string{"netplan.io", "network-manager"},
		Masked:   networkMasked,
		Disabled: []string{"opensm.service"},
		Files:    map[string]string{"etc/default/opensm": noOpensm},
	}
}

// networkMasked would write to the machine that the testbed runs on (the first;
// /proc/sys can be written, see Host.start), or wait for what no host here has.
var networkMasked = []string{"systemd-sysctl.service", "NetworkManager-wait-online.service", "wpa_supplicant.service",
	"ModemManager.service"}

// hostPackages are what a host cannot do without.
var hostPackages = []string{
	"systemd", "systemd-sysv", "dbus", "openssh-server", "sudo", "iproute2", "iputils-ping", "kmod", "procps",
}

// hostFiles turn an installed system into a host.
var hostFiles = map[string]string{
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

// buildTimeout bounds one installation, on a slow line.
const buildTimeout = 15 * time.Minute

func (b Base) packages() []string { return slices.Concat(hostPackages, b.Packages) }

func (b Base) files() map[string]string {
	all := maps.Clone(hostFiles)
	maps.Copy(all, b.Files)
	return all
}

func (b Base) maskedUnits() []string { return slices.Concat(hostMasked, b.Masked) }

// dir is where the installed system is kept between runs. Its name holds all
// that makes one differ from another.
func (b Base) dir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = "/var/cache"
	}
	h := sha256.New()
	fmt.Fprintln(h, 1, b.Suite, slices.Concat(b.packages(), b.Later), b.maskedUnits(), b.Disabled, b.files())
	return filepath.Join(cache, "terraform-provider-infiniband",
		"testbed-"+b.Suite+"-"+hex.EncodeToString(h.Sum(nil))[:12])
}

func (b Base) ready() bool {
	_, err := os.Stat(b.dir())
	return err == nil
}

// Build installs the system unless it is there: minutes once, then nothing. Two
// runs at once build it once.
func (b Base) Build() error {
	at := b.dir()
	if b.ready() {
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
		return fmt.Errorf("testbed: wait for another run that builds %s: %w", at, err)
	}
	if b.ready() {
		return nil
	}
	begin := time.Now()
	fmt.Fprintf(os.Stderr, "testbed: installing Debian %s into %s, once; this takes some minutes\n", b.Suite, at)
	building := at + ".new" // of a run that was stopped, if it is there
	if err := os.RemoveAll(building); err != nil {
		return err
	}
	if err := b.debootstrap(building); err != nil {
		return err
	}
	if err := b.installLater(building); err != nil {
		return errors.Join(err, os.RemoveAll(building))
	}
	if err := b.furnish(building); err != nil {
		return fmt.Errorf("testbed: prepare %s: %w", building, err)
	}
	fmt.Fprintf(os.Stderr, "testbed: installed in %s\n", time.Since(begin).Round(time.Second))
	return os.Rename(building, at)
}

func (b Base) debootstrap(at string) error {
	args := []string{"--variant=minbase", "--include=" + strings.Join(b.packages(), ","), b.Suite, at}
	// Without one debootstrap takes the mirror that it was built with.
	if mirror := os.Getenv("TESTBED_MIRROR"); mirror != "" {
		args = append(args, mirror)
	}
	if err := runIsolated("debootstrap", args...); err != nil {
		return errors.Join(fmt.Errorf("testbed: debootstrap of Debian %s (TESTBED_MIRROR names another mirror): %w", b.Suite,
			err), os.RemoveAll(at))
	}
	return nil
}

// laterScript installs packages ($2…) into a system ($1) with its own apt. Nothing
// of it is started.
const laterScript = `set -e
root=$1
shift
mount -t proc none "$root/proc"
mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
chroot "$root" apt-get -q update
chroot "$root" apt-get -q install -y --no-install-recommends "$@"
chroot "$root" apt-get clean
rm -rf "$root/usr/sbin/policy-rc.d" "$root"/var/lib/apt/lists/*
`

func (b Base) installLater(at string) error {
	if len(b.Later) == 0 {
		return nil
	}
	if err := writeFile(filepath.Join(at, "etc/resolv.conf"), "", 0o644); err != nil {
		return err
	}
	if err := runIsolated("sh", append([]string{"-c", laterScript, "sh", at}, b.Later...)...); err != nil {
		return fmt.Errorf("testbed: install %s: %w", strings.Join(b.Later, ", "), err)
	}
	return nil
}

// runIsolated runs an installation. What it mounts and starts ends with it, and it
// with this program.
func runIsolated(program string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
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

func (b Base) furnish(root string) error {
	for name, text := range b.files() {
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
	for _, unit := range b.maskedUnits() {
		at := filepath.Join(root, "etc/systemd/system", unit)
		if err := os.Symlink("/dev/null", at); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if len(b.Disabled) > 0 {
		if err := command("chroot", append([]string{root, "systemctl", "disable"}, b.Disabled...)...); err != nil {
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
	return os.WriteFile(at, []byte(text), mode) //nolint:gosec // in the sandbox, or an installation of ours
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Bases are all that hosts of the tests run.
var Bases = []Base{Firmware, Bookworm, Trixie}
