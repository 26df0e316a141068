package labsim

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// SudoRule is what a user may do with sudo.
type SudoRule string

// Rules of sudoers.
const (
	SudoNone     SudoRule = "none"
	SudoNoPasswd SudoRule = "nopasswd"
	SudoPassword SudoRule = "password"
)

// User is an account. The key of the lab's client may always log in unless
// NoKey is set.
type User struct {
	Name     string
	UID, GID int
	Groups   []int
	Home     string
	Shell    string
	Password string // empty: no password login
	NoKey    bool
	Sudo     SudoRule
}

// Config describes a machine to be made.
type Config struct {
	Name            string
	OS              OS
	Kernel          string            // default: the stock kernel of the system
	Cmdline         string            // kernel command line beyond root=
	Files           map[string]string // of whoever had the machine before, by path
	MstflintVersion string            // default: what the system packages; "none": not installed
	Stack           Stack             // what configures the network; default: the system's own
	Release         string            // /etc/os-release; default: the system's own
	Users           []User
	Cards           []CardConfig
	Netdevs         []Netdev // what is not a card's: eno1
	Gateway         netip.Addr
	BootDelay       time.Duration // simulated time from going down to SSH back
	Virtual         bool          // a virtual machine
}

// Machine is one host.
type Machine struct {
	Name   string
	OS     OS
	Kernel string
	Lab    *Lab
	FS     *vfs.FS
	Faults *Faults
	Config Config

	// Hooks run without locks, in order of addition. Add to them before the
	// machine boots.
	Hooks Hooks

	// Memlock is what "ulimit -l" prints in a session.
	Memlock string

	// Versions of installed tools, by program name ("mstflint": "4.26.0").
	Tools map[string]string

	mu         sync.Mutex
	users      []User
	installed  []*Card // in the slots
	cards      []*Card // on the bus
	netdevs    []*Netdev
	modules    map[string]bool
	bootID     string
	booted     time.Time
	boots      int
	up         bool
	destroyed  bool
	ready      bool // the OnBoot hooks have run
	udevEvents int  // that udev still has to deal with
	bootCtx    context.Context
	powerOff   context.CancelCauseFunc
	nextPID    int
	nextIndex  int
	procs      map[int]*Proc
	executions []Execution
	violations []string
	kernelLog  []string
	locks      map[string]*fileLock
	counters   Counters
	portTypes  [2]int // port_type_array of the loaded mlx4_core
	initramfs  map[string]string
	early      bool // the initramfs is at work
	values     map[string]any
}

// Counters count what clients did to a machine.
type Counters struct {
	Connections int // accepted handshakes
	Sessions    int // exec requests
	SFTP        int // SFTP subsystems opened
	BytesIn     int64
	BytesOut    int64
}

// Hooks are how services react to events.
type Hooks struct {
	OnBoot         []func(*Machine)
	OnShutdown     []func(*Machine) // not called on a power cut
	OnNetdevAdd    []func(*Machine, *Netdev)
	OnNetdevRemove []func(*Machine, *Netdev)
	OnModule       []func(m *Machine, module string, loaded bool)
	OnPortChange   []func(*Machine, *Port)
	// AddChild makes a P_Key child that was asked for through create_child.
	AddChild func(m *Machine, parent, child string, pkey uint64) error
	// NetdevName may name a new interface of a card instead of systemd's net_id
	// policy, as a udev rule does; empty keeps the default.
	NetdevName func(*Machine, *Netdev) string
	// Flint may answer root in place of the simulated mstflint. The device is the name in -d, and the card
	// what it names; without -d there is neither.
	Flint func(ctx context.Context, p *Proc, device string, c *Card) (status int, answered bool)
}

// Violate records something no real host would have been asked; tests fail on it.
func (m *Machine) Violate(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.violations = append(m.violations, fmt.Sprintf(format, args...))
}

// Violations returns what was recorded.
func (m *Machine) Violations() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.violations...)
}

// KernelLog appends a line to the kernel's ring buffer (dmesg, journalctl -k).
func (m *Machine) KernelLog(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kernelLog = append(m.kernelLog, fmt.Sprintf(format, args...))
}

// KernelLines returns the kernel's ring buffer of this boot.
func (m *Machine) KernelLines() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.kernelLog...)
}

// BootID is /proc/sys/kernel/random/boot_id; empty while the machine is down.
func (m *Machine) BootID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bootID
}

// BootTime is when the present boot ended.
func (m *Machine) BootTime() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.booted
}

// Boots counts the boots since the lab was made; the first is 1.
func (m *Machine) Boots() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boots
}

// Up says whether the machine runs.
func (m *Machine) Up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.up
}

// Ready says whether the machine runs and its services have started: SSH answers
// from then on.
func (m *Machine) Ready() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready
}

// AwaitBoot waits until the machine has booted n times and is ready.
func (m *Machine) AwaitBoot(ctx context.Context, n int) error {
	for m.Boots() < n || !m.Ready() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("labsim: %s has booted %d times, not %d: %w", m.Name, m.Boots(), n, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// BootContext ends when the machine goes down; services run under it.
func (m *Machine) BootContext() context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bootCtx
}

// Users returns the accounts.
func (m *Machine) Users() []User {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]User{}, m.users...)
}

// LookupUser finds an account by name.
func (m *Machine) LookupUser(name string) (User, bool) {
	for _, u := range m.Users() {
		if u.Name == name {
			return u, true
		}
	}
	return User{}, false
}

// GroupIDs returns the groups of a user, its own first.
func (m *Machine) GroupIDs(user string, gid int) []int {
	groups := []int{gid}
	if u, ok := m.LookupUser(user); ok {
		groups = append(groups, u.Groups...)
	}
	return groups
}

// Counters returns what clients did so far.
func (m *Machine) Counters() Counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counters
}

// Count changes the counters.
func (m *Machine) Count(change func(*Counters)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.counters)
}

// Value keeps the state of a simulated service by key: it returns what is
// stored, or stores and returns what make builds.
func (m *Machine) Value(key string, build func() any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[key]; ok {
		return v
	}
	v := build()
	m.values[key] = v
	return v
}

// Install puts a program at a path.
func (m *Machine) Install(file string, program Program) { m.FS.PutProgram(file, program) }

// Uninstall removes a program or file.
func (m *Machine) Uninstall(file string) { m.FS.Drop(file) }

func newBootID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
