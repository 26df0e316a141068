//go:build linux

package machine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/netstack"
)

// Config describes a machine.
type Config struct {
	Name      string
	Dir       string         // of its own: disk, console, sockets
	Operator  string         // public key of who may log in, as authorized_keys has it
	Cards     [][]string     // by slot, the sockets of the functions of a card
	Suite     string         // of Debian; Bookworm if empty
	Stack     netstack.Stack // Ifupdown if empty
	Cmdline   string         // of the kernel, beyond what it needs
	Megabytes int            // of memory; 768 if 0
}

// Machine is one machine. Its methods may be used from several goroutines.
type Machine struct {
	Config
	Port int // of its SSH server, on 127.0.0.1

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when QEMU has ended and is not started again
	boots int
	said  *bytes.Buffer // by QEMU, on its standard streams
	err   error
	stop  bool
}

// New clones a machine from the installed system. It is off.
func New(ctx context.Context, c Config) (*Machine, error) {
	c.Suite, c.Stack = cmp.Or(c.Suite, Bookworm), cmp.Or(c.Stack, netstack.Ifupdown)
	m := &Machine{Config: c, ended: make(chan struct{})}
	close(m.ended)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil { //nolint:gosec // nothing in it is secret but keys, which say so
		return nil, err
	}
	if err := run(ctx, "cp", "--sparse=always", "--reflink=auto", guests[c.Suite].disk(), m.disk()); err != nil {
		return nil, err
	}
	if err := m.personalise(ctx); err != nil {
		return nil, fmt.Errorf("reallab: machine %s: %w", c.Name, err)
	}
	port, err := freePort(ctx)
	m.Port = port
	return m, err
}

func (m *Machine) path(name string) string { return filepath.Join(m.Dir, name) }
func (m *Machine) disk() string            { return m.path("disk.raw") }

// ConsoleFile is where everything is that the machine has printed on its console.
func (m *Machine) ConsoleFile() string { return m.path("console.log") }

// HostKey is the public key by which the machine is known, as a line of known_hosts has it.
func (m *Machine) HostKey() (string, error) {
	key, err := os.ReadFile(m.path("ssh_host_ed25519_key.pub"))
	return string(key), err
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	addr, err := netip.ParseAddrPort(l.Addr().String())
	return int(addr.Port()), err
}

// personalise gives the machine a name, an identity and host keys of its own, and its
// operator. The files go into the disk without mounting it.
func (m *Machine) personalise(ctx context.Context) error {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	key := m.path("ssh_host_ed25519_key")
	if err := run(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", m.Name, "-f", key); err != nil {
		return err
	}
	choice, err := netstack.Choose(m.Stack, uplink)
	if err != nil {
		return err
	}
	host, err := os.ReadFile(key)
	if err != nil {
		return err
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		return err
	}
	ssh := "/home/" + User + "/.ssh"
	files := choice.Files
	maps.Copy(files, map[string]netstack.File{
		"/etc/machine-id":                   {Text: hex.EncodeToString(id) + "\n", Mode: 0o444},
		"/etc/hostname":                     {Text: m.Name + "\n", Mode: 0o644},
		"/etc/hosts":                        {Text: "127.0.0.1 localhost\n127.0.1.1 " + m.Name + "\n", Mode: 0o644},
		"/etc/ssh/ssh_host_ed25519_key":     {Text: string(host), Mode: 0o600},
		"/etc/ssh/ssh_host_ed25519_key.pub": {Text: string(public), Mode: 0o644},
		ssh + "/authorized_keys":            {Text: m.Operator + "\n", Mode: 0o600},
	})
	script := []string{"mkdir " + ssh, "set_inode_field " + ssh + " mode 040700"}
	for i, to := range slices.Sorted(maps.Keys(files)) {
		from := m.path("file" + strconv.Itoa(i))
		if err := os.WriteFile(from, []byte(files[to].Text), 0o600); err != nil {
			return err
		}
		script = append(script, "rm "+to, "write "+from+" "+to, fmt.Sprintf("set_inode_field %s mode 0100%o", to, files[to].Mode))
	}
	for at, target := range choice.Links {
		script = append(script, "rm "+at, "symlink "+at+" "+target)
	}
	for _, path := range []string{ssh, ssh + "/authorized_keys"} {
		script = append(script, "set_inode_field "+path+" uid 1000", "set_inode_field "+path+" gid 1000")
	}
	cmd := exec.CommandContext(ctx, "debugfs", "-w", "-f", "-", m.disk()) //nolint:gosec // a path of ours
	cmd.Stdin = strings.NewReader(strings.Join(script, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("write: ")) {
		return fmt.Errorf("debugfs: %w\n%s", cmp.Or(err, errors.New("a file was not written")), out)
	}
	return nil
}

// loadKernel takes kernel and initramfs out of the disk, as a boot loader does: from the
// file system as it lies there. What the system has made of them since counts.
func (m *Machine) loadKernel(ctx context.Context) error {
	for _, name := range []string{"vmlinuz", "initrd.img"} {
		stat := exec.CommandContext(ctx, "debugfs", "-R", "stat /"+name, m.disk()) //nolint:gosec // a path of ours
		out, err := stat.Output()
		if err != nil {
			return err
		}
		_, target, found := strings.Cut(string(out), `Fast link dest: "`)
		target, _, _ = strings.Cut(target, `"`)
		if !found || target == "" {
			return fmt.Errorf("the disk has no link /%s:\n%s", name, out)
		}
		_ = os.Remove(m.path(name))
		if err := run(ctx, "debugfs", "-R", "dump /"+target+" "+m.path(name), m.disk()); err != nil {
			return err
		}
		if !exists(m.path(name)) {
			return fmt.Errorf("the disk has no /%s", target)
		}
	}
	return nil
}

// qemu is the command that runs the machine. QEMU runs from its own Debian, with that
// one's loader and libraries, and needs no rights.
func (m *Machine) qemu() *exec.Cmd {
	root, memory := emulator.dir(), strconv.Itoa(cmp.Or(m.Megabytes, 768))
	in := func(path string) string { return filepath.Join(root, path) }
	args := []string{
		"--library-path", in("usr/lib/x86_64-linux-gnu"), in("usr/bin/qemu-system-x86_64"),
		"-L", in("usr/share/qemu"), "-L", in("usr/share/seabios"), "-L", in("usr/lib/ipxe/qemu"),
		"-M", "q35,memory-backend=m", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", memory,
		// The card reads and writes this memory.
		"-object", "memory-backend-memfd,id=m,share=on,size=" + memory + "M",
		"-nodefaults", "-no-user-config", "-display", "none", "-action", "reboot=shutdown",
		"-chardev", "file,id=console,append=on,path=" + m.ConsoleFile(), "-serial", "chardev:console",
		"-qmp", "unix:" + m.path("qmp.sock") + ",server=on,wait=off",
		"-kernel", m.path("vmlinuz"), "-initrd", m.path("initrd.img"),
		"-append", "root=/dev/vda rw console=ttyS0 mitigations=off panic=-1 loglevel=5 " + m.Cmdline,
		"-drive", "if=none,id=disk,format=raw,cache=writeback,file=" + m.disk(),
		"-device", "virtio-blk-pci,drive=disk,addr=3",
		"-netdev", fmt.Sprintf("user,id=up,restrict=off,hostfwd=tcp:127.0.0.1:%d-:22", m.Port),
		"-device", "virtio-net-pci,netdev=up,addr=4,romfile=",
		"-device", "virtio-rng-pci,addr=5",
	}
	for i, functions := range m.Cards {
		args = append(args, "-device", fmt.Sprintf("pcie-root-port,id=rp%[1]d,chassis=%[1]d,slot=%[1]d,addr=%[2]d,pref64-reserve=32M", i+1, i+6))
		for n, socket := range functions {
			args = append(args, "-device", fmt.Sprintf(`{"driver":"vfio-user-pci","bus":"rp%d","addr":"0.%d","multifunction":%t,`+
				`"socket":{"path":%q,"type":"unix"}}`, i+1, n, len(functions) > 1, socket))
		}
	}
	cmd := exec.Command(in("lib64/ld-linux-x86-64.so.2"), args...) //nolint:noctx,gosec // it outlives the call; paths of ours
	cmd.Env = append(os.Environ(), "QEMU_MODULE_DIR="+in("usr/lib/x86_64-linux-gnu/qemu"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Start switches the machine on. It runs until it switches itself off, or Cut. When its
// system restarts it, it starts again, and its card has lost power in between.
func (m *Machine) Start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended, m.stop, m.err = make(chan struct{}), false, nil
	events, err := m.launch(ctx)
	if err != nil {
		close(m.ended)
		return err
	}
	go m.follow(events) //nolint:gosec,contextcheck // the machine outlives the call that starts it
	return nil
}

// launch starts QEMU once. The caller holds the lock.
func (m *Machine) launch(ctx context.Context) (*events, error) {
	if err := m.loadKernel(ctx); err != nil {
		return nil, err
	}
	_ = os.Remove(m.path("qmp.sock"))
	m.cmd = m.qemu()
	m.said = &bytes.Buffer{}
	m.cmd.Stdout, m.cmd.Stderr = m.said, m.said
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	m.boots++
	e, err := listen(m.path("qmp.sock"), 20*time.Second)
	if err != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
		return nil, fmt.Errorf("reallab: QEMU of %s: %w\n%s", m.Name, err, m.said)
	}
	return e, nil
}

// follow waits for the end of QEMU, and starts it again if the system asked for that.
func (m *Machine) follow(e *events) {
	for {
		again := e.wait() == "guest-reset"
		m.mu.Lock()
		err := m.cmd.Wait()
		if again && !m.stop {
			if e, err = m.launch(context.Background()); err == nil {
				m.mu.Unlock()
				continue
			}
		}
		if err != nil && !m.stop {
			m.err = fmt.Errorf("reallab: QEMU of %s: %w\n%s", m.Name, err, m.said)
		}
		close(m.ended)
		m.mu.Unlock()
		return
	}
}

// Boots counts how often the machine was started.
func (m *Machine) Boots() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boots
}

// Err is why QEMU ended by itself with an error; nil if the system ended it.
func (m *Machine) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Ended is closed while the machine is off.
func (m *Machine) Ended() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}

// Cut takes the power away. What the system had not written to its disk is lost.
func (m *Machine) Cut() {
	m.mu.Lock()
	m.stop = true
	if m.cmd != nil && m.cmd.ProcessState == nil {
		_ = m.cmd.Process.Kill()
	}
	ended := m.ended
	m.mu.Unlock()
	<-ended
}

// Console is the end of what the machine has printed.
func (m *Machine) Console(lines int) string {
	b, err := os.ReadFile(m.ConsoleFile())
	if err != nil {
		return err.Error()
	}
	return lastLines(string(b), lines)
}
