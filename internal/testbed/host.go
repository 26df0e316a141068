//go:build testbed && linux

package testbed

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/fusetree"
)

// Host is one machine of the testbed. Its disk is a layer of its own over the
// shared system, and outlives reboots and power cuts.
type Host struct {
	Name   string
	Addr   string // of sshd, port 22
	BDF    string // of the first card
	Device *Device
	Key    ssh.PublicKey // of sshd

	dir    string
	log    *os.File
	number int // gives it a network of its own

	mu      sync.Mutex
	process *exec.Cmd
	boots   int
	down    chan struct{} // closed when the machine is off
	noBoot  bool          // a reboot is not to come back
	slots   map[string]*Device
}

// newHost prepares a machine, which is off.
func newHost(number int, c HostConfig, d *Device, operator ssh.PublicKey) (*Host, error) {
	h := &Host{
		Name: c.Name, BDF: c.BDF, Device: d, Addr: fmt.Sprintf("10.77.%d.2", number),
		dir: filepath.Join(runDir, c.Name), down: closedChannel(), number: number,
	}
	h.Slot(c.BDF, d)
	for _, step := range []func() error{
		h.mountDisk, func() error { return h.furnish(operator) }, h.plug, h.mountCard,
	} {
		if err := step(); err != nil {
			return h, fmt.Errorf("testbed: host %s: %w", c.Name, err)
		}
	}
	var err error
	h.log, err = os.Create(h.path("console"))
	return h, err
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (h *Host) path(name string) string { return filepath.Join(h.dir, name) }

// mountDisk lays the host's own disk over the shared system. Both disk and mount
// are in the sandbox and go with it.
func (h *Host) mountDisk() error {
	for _, d := range []string{"disk", "work", "root", "pci", "class", "sys"} {
		if err := os.MkdirAll(h.path(d), 0o755); err != nil { //nolint:gosec // the host's users walk through it
			return err
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", baseDir(), h.path("disk"), h.path("work"))
	if err := unix.Mount("overlay", h.path("root"), "overlay", 0, options); err != nil {
		return fmt.Errorf("lay its disk over %s: %w", baseDir(), err)
	}
	return nil
}

// furnish gives the host an identity and lets the operator in.
func (h *Host) furnish(operator ssh.PublicKey) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, h.Name)
	if err != nil {
		return err
	}
	if h.Key, err = ssh.NewPublicKey(public); err != nil {
		return err
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	root, keys := h.path("root"), filepath.Join("home", User, ".ssh", "authorized_keys")
	for name, f := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"etc/hostname":                 {h.Name + "\n", 0o644},
		"etc/hosts":                    {"127.0.0.1 localhost " + h.Name + "\n", 0o644},
		"etc/machine-id":               {hex.EncodeToString(id[:]) + "\n", 0o444},
		"etc/ssh/ssh_host_ed25519_key": {string(pem.EncodeToMemory(block)), 0o600},
		keys:                           {string(ssh.MarshalAuthorizedKey(operator)), 0o600},
	} {
		if err := writeFile(filepath.Join(root, name), f.text, f.mode); err != nil {
			return err
		}
	}
	for _, name := range []string{filepath.Dir(keys), keys} {
		if err := os.Chown(filepath.Join(root, name), userID, userID); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(root, filepath.Dir(keys)), 0o700) //nolint:gosec // a directory
}

// plug gives the host a network of its own, with one cable to the operator.
func (h *Host) plug() error {
	const uplink = "eno1"
	out, gateway := "to-"+strconv.Itoa(h.number), strings.TrimSuffix(h.Addr, ".2")+".1"
	for _, args := range [][]string{
		{"netns", "add", h.Name},
		{"link", "add", out, "type", "veth", "peer", "name", uplink, "netns", h.Name},
		{"addr", "add", gateway + "/24", "dev", out},
		{"link", "set", out, "up"},
		{"-n", h.Name, "link", "set", "lo", "up"},
		{"-n", h.Name, "addr", "add", h.Addr + "/24", "dev", uplink},
		{"-n", h.Name, "link", "set", uplink, "up"},
		{"-n", h.Name, "route", "add", "default", "via", gateway},
	} {
		if err := command("ip", args...); err != nil {
			return err
		}
	}
	// A sysfs shows the interfaces of the network that it was mounted in.
	return command("nsenter", "--net="+h.netns(), "mount", "-t", "sysfs", "sysfs", h.path("sys"))
}

// netns is the host's network; its name is the host's.
func (h *Host) netns() string { return "/run/netns/" + h.Name }

// Slot puts a card into a slot, or takes it out if d is nil. A running system is
// not told, but sees it when it looks.
func (h *Host) Slot(bdf string, d *Device) {
	if d != nil {
		d.PowerLost = func() { _ = h.Cut() }
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slots = maps.Clone(h.slots)
	if h.slots == nil {
		h.slots = map[string]*Device{}
	}
	if h.slots[bdf] = d; d == nil {
		delete(h.slots, bdf)
	}
}

// cards are the host's cards by slot.
func (h *Host) cards() map[string]*Device {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slots
}

// mountCard serves the cards: functions on the bus, and what their driver shows.
func (h *Host) mountCard() error {
	if err := fusetree.Mount(h.path("pci"), pciTree(h.cards)); err != nil {
		return err
	}
	return fusetree.Mount(h.path("class"), classTree(h.cards))
}

// Exec runs a shell command as root on the host, not over SSH.
func (h *Host) Exec(ctx context.Context, script string) (string, error) {
	pid, err := h.leader()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "nsenter", //nolint:gosec // for tests
		"--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--", "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Put writes a file on the host's disk, for root only.
func (h *Host) Put(name string, data []byte) error {
	return writeFile(filepath.Join(h.path("root"), name), string(data), 0o600)
}

// leader is the first process of the running system.
func (h *Host) leader() (int, error) {
	h.mu.Lock()
	cmd := h.process
	h.mu.Unlock()
	if cmd == nil {
		return 0, fmt.Errorf("testbed: host %s is off", h.Name)
	}
	if list := children(cmd.Process.Pid); len(list) > 0 {
		return list[0], nil
	}
	return 0, fmt.Errorf("testbed: host %s has no process", h.Name)
}

// Signal sends a signal to every process of a name on the host, and says how many
// there were.
func (h *Host) Signal(program string, sig syscall.Signal) int {
	leader, err := h.leader()
	if err != nil {
		return 0
	}
	n := 0
	for _, p := range processes() {
		if p.name == program && p.below(leader) && syscall.Kill(p.pid, sig) == nil {
			n++
		}
	}
	return n
}

// Running counts the processes of a name on the host.
func (h *Host) Running(program string) int { return h.Signal(program, 0) }

// remove ends the host for good.
func (h *Host) remove() error {
	err := h.Cut()
	sweepCgroups(h.Name)
	for _, at := range []string{"pci", "class"} {
		// Not the server's own Unmount, which waits for the end of the file system:
		// containers of other hosts hold a hidden copy of the mount while they run.
		err = errors.Join(err, unix.Unmount(h.path(at), unix.MNT_DETACH))
	}
	err = errors.Join(err, unix.Unmount(h.path("sys"), unix.MNT_DETACH), unix.Unmount(h.path("root"), unix.MNT_DETACH))
	if h.log != nil {
		err = errors.Join(err, h.log.Close())
	}
	return errors.Join(err, command("ip", "netns", "del", h.Name), os.RemoveAll(h.dir))
}
