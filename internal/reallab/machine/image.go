//go:build linux

// Package machine boots Debian with its own kernel in QEMU, with an emulated card in a
// slot. It must not know what the card is: that is behind a socket.
package machine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

// User logs in on every machine and may use sudo without a password.
const User = "ops"

// A system is a Debian that is installed once and kept.
type system struct {
	suite string
	// script runs in a shell with the path of the installed system as its argument.
	script string
	// verify judges the installed system; it may be nil.
	verify func(ctx context.Context, root string) error
	// boots says that machines run it, from a disk.
	boots bool
}

// series is that of QEMU, whose snapshots and switches the lab relies on.
const series = "11.1"

// emulator holds QEMU. Its function "vfio-user-pci" is in 10.1 and later; Debian 13 has
// 10.0, and its backports a later one.
var emulator = system{suite: "trixie", script: `
sed 's/ trixie / trixie-backports /' "$1/etc/apt/sources.list" >"$1/etc/apt/sources.list.d/backports.list"
printf 'Package: qemu-system-*\nPin: version 1:` + series + `.*\nPin-Priority: 1001\n' >"$1/etc/apt/preferences.d/series"
cp /etc/resolv.conf "$1/etc/resolv.conf"
chroot "$1" apt-get update -qq
chroot "$1" apt-get install -y -qq --no-install-recommends -t trixie-backports \
	qemu-system-x86 qemu-system-data seabios ipxe-qemu
`, verify: verifySeries}

// verifySeries looks at what was installed: the archive keeps one version only.
func verifySeries(ctx context.Context, root string) error {
	query := exec.CommandContext(ctx, "chroot", root, "dpkg-query", "-W", "-f", "${Version}", "qemu-system-x86") //nolint:gosec // a path of ours
	version, err := query.Output()
	if err != nil {
		return fmt.Errorf("ask for the version of QEMU: %w", err)
	}
	if !strings.HasPrefix(string(version), "1:"+series+".") {
		return SeriesError{string(version)}
	}
	return nil
}

// SeriesError is of an archive that has moved on to another QEMU. No host can mend that,
// so it is no LackingError: what fails is the pin.
type SeriesError struct{ Version string }

func (e SeriesError) Error() string {
	return fmt.Sprintf("trixie-backports has QEMU %s, and the lab was made for %s. Set series in "+
		"internal/reallab/machine/image.go to the new one, and see that \"make reallab\" and \"make reallab-load\" "+
		"succeed: snapshots and switches of QEMU may have changed", e.Version, series)
}

// The systems that machines run. Debian 12 is the last whose mstflint (4.21) burns and
// configures ConnectX-3.
const (
	Bookworm = "bookworm" // Linux 6.1
	Trixie   = "trixie"   // Linux 6.12
)

// allSuites are those that machines boot.
var allSuites = []string{Bookworm, Trixie}

// guests have every network stack, of which a machine takes one into use, and their stock
// kernel.
var guests = map[string]system{Bookworm: guest(Bookworm), Trixie: guest(Trixie)}

func guest(suite string) system { return system{suite: suite, boots: true, script: furnish} }

// systems are all that the suites need, in one order.
func systems(suites []string) []system {
	all := []system{emulator}
	for _, suite := range suites {
		all = append(all, guests[suite])
	}
	return all
}

// furnish makes a system of the lab of a minimal one. Programs of the installed system do
// it: those of this host may be missing, or of another age. Half of the time went into
// unpacking package by package, as debootstrap does, into waiting for a disk that is a copy,
// and into an initial RAM disk with all drivers. A machine asks no nameserver, as none
// would answer.
const furnish = `
cp /etc/resolv.conf "$1/etc/resolv.conf"
printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
chmod 755 "$1/usr/sbin/policy-rc.d"
echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/lab"
` + initramfs + `chroot "$1" apt-get update -qq
chroot "$1" apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus udev openssh-server sudo iproute2 \
	iputils-ping kmod procps ifupdown netplan.io network-manager nftables initramfs-tools zstd linux-image-amd64 \
	pciutils mstflint opensm infiniband-diags rdma-core ibverbs-utils ibverbs-providers perftest iperf3 qperf ethtool \
	nfs-kernel-server
chroot "$1" apt-get clean
rm -rf "$1/usr/sbin/policy-rc.d" "$1/etc/dpkg/dpkg.cfg.d/lab" "$1"/var/lib/apt/lists/*
echo '# A machine of the lab reaches nothing outside.' >"$1/etc/resolv.conf"
chroot "$1" useradd -m -s /bin/bash ` + User + `
echo '` + User + ` ALL=(ALL:ALL) NOPASSWD: ALL' >"$1/etc/sudoers.d/lab"
printf 'PasswordAuthentication no\nUseDNS no\nMaxSessions 50\nMaxStartups 100\n' >"$1/etc/ssh/sshd_config.d/lab.conf"
echo '/dev/vda / ext4 defaults 0 1' >"$1/etc/fstab"
echo 'PORTS="NONE"' >"$1/etc/default/opensm"
chroot "$1" systemctl disable opensm.service nfs-server.service nfs-client.target rpcbind.service rpcbind.socket
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
	fstrim.timer man-db.timer getty.target systemd-pstore.service systemd-binfmt.service \
	NetworkManager-wait-online.service systemd-networkd-wait-online.service wpa_supplicant.service \
	modprobe@drm.service modprobe@fuse.service modprobe@loop.service modprobe@dm_mod.service modprobe@efi_pstore.service \
	sys-fs-fuse-connections.mount sys-kernel-tracing.mount dev-hugepages.mount dev-mqueue.mount; do
	chroot "$1" systemctl mask $unit
done
rm -f "$1"/etc/ssh/ssh_host_*
rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/usr/share/locale/*
cd "$1"/lib/modules/*/kernel
rm -rf sound drivers/gpu drivers/media drivers/staging drivers/iio drivers/usb drivers/hid drivers/bluetooth drivers/isdn drivers/net/wireless
cd /
version=$(ls "$1"/lib/modules)
chroot "$1" depmod "$version"
touch "$1/etc/.updated" "$1/var/.updated" # or each first boot makes caches anew
`

// initramfs has the initial RAM disk hold what the machine needs, and the drivers whose
// module parameters count from there. Debian's choice is every driver of a disk or network
// card, which costs an emulated machine seconds at each boot, and half a minute whenever
// the disk is made. The drivers are loaded as udev finds their cards, as Debian has it.
const initramfs = `mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/etc/initramfs-tools/hooks"
printf 'MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n' >"$1/etc/initramfs-tools/conf.d/lab"
cat >"$1/etc/initramfs-tools/hooks/lab" <<'END'
#!/bin/sh
[ "$1" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions
manual_add_modules virtio_pci virtio_blk ext4 crc32c_generic crc32c_intel mlx4_core mlx4_en
END
chmod 755 "$1/etc/initramfs-tools/hooks/lab"
`

// uplink is the machine's management interface, which udev names by its slot, in the
// network that QEMU makes for it.
var uplink = netstack.Uplink{Name: "enp0s4", Address: "10.0.2.15/24", Gateway: "10.0.2.2"}

// buildTimeout bounds one installation, on a slow line or a busy machine.
const buildTimeout = 30 * time.Minute

// cache is where systems and disks are kept between runs.
func cache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = "/var/cache"
	}
	return filepath.Join(dir, "terraform-provider-infiniband")
}

// Logs is where the logs of labs are kept whose test has failed.
func Logs() string {
	return cmp.Or(os.Getenv("REALLAB_LOGS"), filepath.Join(cache(), "reallab-logs"))
}

// Key changes when one of the installed systems does. It is for those who keep them elsewhere.
func Key() string {
	h := sha256.New()
	for _, s := range systems(allSuites) {
		fmt.Fprintln(h, filepath.Base(s.dir()))
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// dir is where a system is kept. Its name holds all that makes one differ from another.
func (s system) dir() string {
	h := sha256.New()
	fmt.Fprintln(h, 2, s.suite, s.script)
	return filepath.Join(cache(), "reallab-"+s.suite+"-"+hex.EncodeToString(h.Sum(nil))[:12])
}

// disk is the disk from which every machine is cloned.
func (s system) disk() string { return s.dir() + ".raw" }

// Prepare installs QEMU and what the machines boot, and keeps a machine that has booted:
// minutes once, then nothing. Two runs at once do it once. What is to run must have room.
func Prepare(ctx context.Context, n Need) error {
	if err := Check(n); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	systems := systems(n.suites())
	failed := make([]error, len(systems))
	var all sync.WaitGroup
	for i, s := range systems {
		all.Go(func() { failed[i] = s.prepare(ctx) })
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return off(Config{Suite: n.suites()[0]}).prepare(ctx)
}

// prepare installs a system, and makes the disk of one that machines run.
func (s system) prepare(ctx context.Context) error {
	err := s.install(ctx)
	if err == nil && s.boots {
		err = s.makeDisk(ctx)
	}
	if err != nil {
		return fmt.Errorf("reallab: install Debian %s: %w", s.suite, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (s system) install(ctx context.Context) error {
	unlock, err := lock(ctx, s.dir())
	defer unlock()
	if err != nil || exists(s.dir()) {
		return err
	}
	fresh := s.dir() + ".new"
	if err = removeSystem(fresh); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "reallab: installing Debian %s into %s, once; this takes some minutes\n", s.suite, s.dir())
	if err = run(ctx, "debootstrap", "--variant=minbase", s.suite, fresh); err != nil {
		return err
	}
	if err = run(ctx, "sh", "-ec", s.script, "sh", fresh); err != nil {
		return err
	}
	if s.verify != nil {
		if err = s.verify(ctx, fresh); err != nil {
			return errors.Join(err, os.RemoveAll(fresh))
		}
	}
	return os.Rename(fresh, s.dir())
}

// removeSystem deletes what an installation that was killed has left. Two file systems of the
// kernel are still mounted in it then, and cannot be deleted.
func removeSystem(root string) error {
	for _, mounted := range []string{"proc", "sys"} {
		err := unix.Unmount(filepath.Join(root, mounted), unix.MNT_DETACH)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("unmount %s in %s: %w", mounted, root, err)
		}
	}
	return os.RemoveAll(root)
}

// lock waits until nobody else makes what is kept at a path, or ctx ends. The first return
// value ends the hold, and may always be called.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	if err = os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return func() {}, err
	}
	file, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}, err
	}
	unlock = func() { _ = file.Close() }
	for {
		// A call that waits cannot be ended.
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return unlock, fmt.Errorf("wait for another run that makes %s: %w", path, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// diskSize is that of a machine's disk in bytes; what is not written takes no space.
const diskSize = "4G"

// makeDisk makes a file system of the installed files. Two at once would write into one file.
func (s system) makeDisk(ctx context.Context) error {
	unlock, err := lock(ctx, s.disk())
	defer unlock()
	if err != nil || exists(s.disk()) {
		return err
	}
	fresh := s.disk() + ".new"
	// What a run that failed has left is no beginning.
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := run(ctx, "mkfs.ext4", "-q", "-F", "-d", s.dir(), fresh, diskSize); err != nil {
		return err
	}
	// What is wrong here is wrong in every machine, and shows there as something else.
	if err := run(ctx, "e2fsck", "-f", "-n", fresh); err != nil {
		return err
	}
	return os.Rename(fresh, s.disk())
}

// run runs a program and gives what it printed with its error. All that it has started
// ends with it: an installation that goes on alone would write beside the next one.
func run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // programs and paths of ours
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second // a process of another group may hold the pipe
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, lastLines(string(out), 20))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
