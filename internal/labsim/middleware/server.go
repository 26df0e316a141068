// Package middleware is a state machine of the TrueNAS SCALE 25.10 middleware
// as far as InfiniBand hosts need it: the interface transaction, init scripts,
// tunables, kernel options, reboot and the few queries around them, with
// midclt in front. Shapes, defaults, messages and order of effects follow the
// middleware's own sources (tag TS-25.10.6).
//
// It must not know a simulated machine, a shell or SSH: what it sees and
// changes of the running system goes through System. It imports nothing of the
// provider.
package middleware

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Addr is one address of a kernel interface.
type Addr struct {
	IP        string
	Prefix    int
	Broadcast string // IPv4 only
}

// V6 reports whether the address is IPv6.
func (a Addr) V6() bool { return strings.Contains(a.IP, ":") }

// Link is one kernel interface as the middleware reads it over netlink.
type Link struct {
	Name       string
	MTU        int
	Up         bool // administratively
	Running    bool // has carrier
	Address    string
	Permanent  string // empty = null
	Media      string // active media subtype, "40000Mb/s Other"
	Addrs      []Addr
	InfiniBand bool
}

// System is the running system below the middleware. Calls come with the
// server's lock held: implementations must not call back into the Server.
type System interface {
	// Links returns all interfaces but the loopback, in kernel order.
	Links() []Link
	SetUp(name string, up bool) error
	SetMTU(name string, mtu int) error
	AddAddr(name string, a Addr) error
	DelAddr(name string, a Addr) error
	// StartDHCP asks for a lease and reports whether one was got.
	StartDHCP(name string) bool
	StopDHCP(name string)
	SetGateway(ip string) // empty removes the default route

	Now() time.Time
	Sleep(d time.Duration)
	// AfterFunc runs f later, unless stop is called or the machine goes down.
	AfterFunc(d time.Duration, f func()) (stop func())

	BootID() string
	// Reboot begins an orderly restart; it returns at once.
	Reboot(reason string)
	// ReplaceUdevRules empties /etc/udev/rules.d and writes these files.
	ReplaceUdevRules(files map[string]string)
	// SetBootArgs rewrites the kernel command line of the next boot.
	SetBootArgs(extra string)
	// RunScript runs an init script as root with a timeout.
	RunScript(command string, timeout time.Duration) error
	// Log appends a line to /var/log/middlewared.log.
	Log(line string)
	// Unsimulated records a call of something this package does not model.
	Unsimulated(what string)
}

// Options sets up a server.
type Options struct {
	Version string // "25.10.6"
	// Latency delays the answer of a method; the work is done at the start, as
	// in a server that goes on when its client gives up.
	Latency map[string]time.Duration
}

// Caller is the account at the other end of the unix socket.
type Caller struct {
	FullAdmin     bool
	Authenticated bool     // member of any privilege
	Roles         []string // for accounts that are not full administrators
}

// Server is one middlewared with its configuration database. The database
// outlives a restart; the snapshot, the timer and the jobs do not.
type Server struct {
	sys  System
	opts Options

	mu   sync.Mutex
	db   *database
	mem  memory
	down bool
	// capable are the protocols that can go over RDMA.
	capable []any
}

// memory is what middlewared forgets when it restarts.
type memory struct {
	snapshot  *netTables
	stopTimer func()
	deadline  time.Time
	nextJob   int
	ready     bool
	stopping  bool
}

// New returns a server on a fresh database: no interface rows, no tunables.
func New(sys System, opts Options) *Server {
	if opts.Version == "" {
		opts.Version = "25.10.6"
	}
	s := &Server{sys: sys, opts: opts, db: newDatabase(), capable: []any{}}
	s.mem = memory{nextJob: firstJob, ready: true}
	return s
}

// The first job of a boot that this package models is the PREINIT run; earlier
// ids belong to jobs of the start-up itself.
const firstJob = 86

// SetDown makes the daemon unreachable, or reachable again.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Restart forgets all that middlewared keeps in memory: a pending change
// stays in the database for good, and an armed rollback never fires.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart()
}

func (s *Server) restart() {
	if s.mem.stopTimer != nil {
		s.mem.stopTimer()
	}
	s.mem = memory{nextJob: firstJob}
}

// SetNextJob sets the id that the next job gets.
func (s *Server) SetNextJob(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mem.nextJob = id
}

// SetGateway stores the default gateway in the network configuration.
func (s *Server) SetGateway(ip string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db.net.gateway = ip
}

// UdevRules returns the rules files that the database holds, by file name.
func (s *Server) UdevRules() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.udevRules()
}

// method is one API method.
type method struct {
	params []field
	role   string // empty: any privilege; "-": no authentication; "FULL_ADMIN"
	job    bool
	call   func(s *Server, args []any) (any, error)
}

// Reply is the answer of a call.
type Reply struct {
	Result any
	Err    error
	Job    int // id, when the method is a job
	Wait   time.Duration
}

// Call runs one method on behalf of caller.
func (s *Server) Call(caller Caller, name string, args []any) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := methods[name]
	if !ok {
		if !absent[name] {
			s.sys.Unsimulated("middleware method " + name)
		}
		return Reply{Err: ErrNoMethod}
	}
	if err := authorize(caller, m.role); err != nil {
		return Reply{Err: err}
	}
	bound, err := bind(m.params, args)
	if err != nil {
		return Reply{Err: err}
	}
	rep := Reply{Wait: s.opts.Latency[name]}
	if m.job {
		rep.Job = s.startJob()
	}
	rep.Result, rep.Err = m.call(s, bound)
	return rep
}

// isJob reports whether a method answers with a job id.
func isJob(name string) bool { return methods[name].job }

func authorize(c Caller, role string) error {
	if role == "-" || c.FullAdmin {
		return nil
	}
	if !c.Authenticated && len(c.Roles) == 0 {
		return &CallError{"ENOTAUTHENTICATED", "Not authenticated"}
	}
	if role == "" {
		return nil
	}
	for _, r := range c.Roles {
		// A write role holds the read role.
		if r == role || strings.HasSuffix(role, "_READ") && r == strings.TrimSuffix(role, "READ")+"WRITE" {
			return nil
		}
	}
	return &CallError{"EACCES", "Not authorized"}
}

// absent are methods that the release really does not have; every other
// unknown name is something this package should have modelled.
var absent = map[string]bool{
	"ups.query": true, "interface.add": true, "system.ping": true, "opensm.config": true,
}

const (
	ifaceRead  = "NETWORK_INTERFACE_READ"
	ifaceWrite = "NETWORK_INTERFACE_WRITE"
	fullAdmin  = "FULL_ADMIN"
)

var methods map[string]method

// A literal would be a cycle: the table and its methods refer to each other.
func init() {
	methods = map[string]method{}
	for _, group := range []map[string]method{
		interfaceMethods, transactionMethods, systemMethods, scriptMethods, tunableMethods, otherMethods,
	} {
		for name, m := range group {
			if _, dup := methods[name]; dup {
				panic(fmt.Sprintf("middleware: method %s defined twice", name))
			}
			methods[name] = m
		}
	}
}

func (s *Server) startJob() int {
	s.mem.nextJob++
	return s.mem.nextJob - 1
}
