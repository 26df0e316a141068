//go:build linux

package machine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

	accelerator string
	files       map[string]netstack.File // of its identity
	from        *original                // what its first run continues; nil if it boots

	mu    sync.Mutex
	cmd   *exec.Cmd
	qmp   *monitor
	agent *agent
	ended chan struct{} // closed when QEMU has ended and is not started again
	boots int
	// printed is how long the console was at the last start.
	printed int
	said    *bytes.Buffer // by QEMU, on its standard streams
	err     error
	stop    bool
}

// New makes a machine, which is off. It is a copy of a machine that has booted, and begins
// where that one was kept, unless it has a kernel command line of its own: then it begins
// with a boot. After its first run every machine boots from its own disk.
func New(ctx context.Context, c Config) (*Machine, error) {
	m := off(c)
	if len(c.Cards) > slots {
		return nil, fmt.Errorf("reallab: machine %s: %d cards, and %d slots", c.Name, len(c.Cards), slots)
	}
	if err := m.furnish(ctx); err != nil {
		return nil, fmt.Errorf("reallab: machine %s: %w", c.Name, err)
	}
	return m, nil
}

// furnish gives a machine its identity and its disk.
func (m *Machine) furnish(ctx context.Context) error {
	if err := m.identify(ctx); err != nil {
		return err
	}
	from := m.origin()
	if from == nil {
		return m.install(ctx)
	}
	if err := from.ensure(ctx); err != nil {
		return err
	}
	m.from = from
	return m.cloneDisk(ctx, filepath.Join(m.from.dir(), diskFile))
}

// off is a machine that has nothing yet.
func off(c Config) *Machine {
	c.Suite, c.Stack = cmp.Or(c.Suite, Bookworm), cmp.Or(c.Stack, netstack.Ifupdown)
	m := &Machine{Config: c, ended: make(chan struct{})}
	close(m.ended)
	return m
}

// identify gives a machine its directory, its way in and its identity.
func (m *Machine) identify(ctx context.Context) (err error) {
	if err = os.MkdirAll(m.Dir, 0o755); err != nil { //nolint:gosec // nothing in it is secret but keys, which say so
		return err
	}
	if m.accelerator, err = accelerator(ctx); err != nil {
		return err
	}
	if m.Port, err = freePort(ctx); err != nil {
		return err
	}
	m.files, err = m.identity(ctx)
	return err
}

// origin is what the machine begins as a copy of; nil if it begins with a boot. The kernel
// of a copy has read its command line long ago. So has udev, which loads the drivers.
func (m *Machine) origin() *original {
	if m.Cmdline != "" {
		return nil
	}
	return &original{accelerator: m.accelerator, suite: m.Suite, stack: m.Stack, megabytes: m.Megabytes}
}

// cloneDisk copies a disk without its holes.
func (m *Machine) cloneDisk(ctx context.Context, from string) error {
	return run(ctx, "cp", "--sparse=auto", "--reflink=auto", from, m.disk())
}

// install gives a machine that begins with a boot the disk of its system, its network
// stack and its identity, and what else it is to have.
func (m *Machine) install(ctx context.Context, more ...netstack.Choice) error {
	if err := m.cloneDisk(ctx, guests[m.Suite].disk()); err != nil {
		return err
	}
	choice, err := netstack.Choose(m.Stack, uplink)
	if err != nil {
		return err
	}
	files, links := maps.Clone(m.files), map[string]string{}
	for _, some := range append(more, choice) {
		maps.Copy(files, some.Files)
		maps.Copy(links, some.Links)
	}
	return m.writeFiles(ctx, files, links)
}

func (m *Machine) path(name string) string { return filepath.Join(m.Dir, name) }
func (m *Machine) disk() string            { return m.path(diskFile) }

const diskFile = "disk.raw"

// ConsoleFile is where everything is that the machine has printed on its console.
func (m *Machine) ConsoleFile() string { return m.path(ConsoleLog) }

// HostKey is the public key by which the machine is known, as a line of known_hosts has it.
func (m *Machine) HostKey() (string, error) {
	key, err := os.ReadFile(m.path(hostKey + ".pub"))
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

// Start switches the machine on. It runs until it switches itself off, or Cut. When its
// system restarts it, it starts again, and its card has lost power in between.
//
// A copy that starts for the first time runs with its cards when Start is back, and its
// system begins to boot otherwise.
func (m *Machine) Start(ctx context.Context) error {
	m.mu.Lock()
	m.ended, m.stop, m.err = make(chan struct{}), false, nil
	copied := m.boots == 0 && m.from != nil
	err := m.launch(ctx, copied)
	if err != nil {
		close(m.ended)
		m.mu.Unlock()
		return err
	}
	q, a := m.qmp, m.agent
	m.mu.Unlock()
	go m.follow() //nolint:gosec,contextcheck // the machine outlives the call that starts it
	if !copied {
		return nil
	}
	if err = m.restore(q, a); err != nil {
		m.Cut()
		return fmt.Errorf("reallab: start %s as a copy: %w\n%s\n%s", m.Name, err, m.said, m.Console(20))
	}
	return nil
}

// launch starts QEMU once, to boot or to continue what was kept. The caller holds the lock.
func (m *Machine) launch(ctx context.Context, copied bool) error {
	args, err := m.beginning(ctx, copied)
	if err != nil {
		return err
	}
	for _, socket := range []string{monitorSocket, agentSocket} {
		_ = os.Remove(m.path(socket))
	}
	console, err := size(m.ConsoleFile())
	if err != nil {
		return err
	}
	m.cmd, m.said = emulate(args...), &bytes.Buffer{}
	m.cmd.Stdout, m.cmd.Stderr = m.said, m.said
	if err = m.cmd.Start(); err != nil {
		return err
	}
	m.boots++
	m.printed = console
	if m.qmp, err = dialMonitor(m.path(monitorSocket), launchLimit); err == nil {
		m.agent, err = dialAgent(m.path(agentSocket), launchLimit)
	}
	if err != nil {
		_ = m.cmd.Process.Kill()
		_ = m.cmd.Wait()
		return fmt.Errorf("reallab: QEMU of %s: %w\n%s", m.Name, err, m.said)
	}
	return nil
}

// size is that of a file that may not be there yet.
func size(path string) (int, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int(info.Size()), nil
}

// launchLimit bounds the time until QEMU listens.
const launchLimit = 20 * time.Second

// beginning is the arguments of QEMU for the next start. A copy continues with the kernel
// that its memory has, and gets its cards later.
func (m *Machine) beginning(ctx context.Context, copied bool) ([]string, error) {
	args := m.arguments(m.accelerator)
	if copied {
		return append(args, "-incoming", "defer"), nil
	}
	if err := m.loadKernel(ctx); err != nil {
		return nil, err
	}
	args = append(args, "-kernel", m.path(kernelFile), "-initrd", m.path(initrdFile), "-append", commandLine+m.Cmdline)
	for i, sockets := range m.Cards {
		for _, f := range functions(i, sockets) {
			device, err := json.Marshal(f)
			if err != nil {
				return nil, err
			}
			args = append(args, "-device", string(device))
		}
	}
	return args, nil
}

// follow waits for the end of QEMU, and starts it again if the system asked for that.
func (m *Machine) follow() {
	for {
		again := m.qmp.wait() == "guest-reset"
		m.mu.Lock()
		err := m.cmd.Wait()
		_ = m.agent.conn.Close()
		if again && !m.stop {
			if err = m.launch(context.Background(), false); err == nil {
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
