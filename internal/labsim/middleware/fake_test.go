package middleware

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// fakeSystem is a running system made of plain fields, with a clock that only
// moves when told to.
type fakeSystem struct {
	mu        sync.Mutex
	links     []Link
	gateway   string
	lease     map[string]Addr // interfaces that a DHCP server answers on
	now       time.Time
	timers    map[int]fakeTimer
	nextTimer int
	bootID    string
	rebooted  []string
	rules     map[string]string
	args      string
	ran       []string
	logs      []string
	foreign   []string // unsimulated
	onScript  func(string)
}

type fakeTimer struct {
	due time.Time
	run func()
}

func newFake(links ...Link) *fakeSystem {
	return &fakeSystem{
		links: links, now: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), timers: map[int]fakeTimer{},
		bootID: "0b7f6a52-6f4e-4b4c-9f0b-6a0c5e5d2a11",
	}
}

const ibAddress = "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:31:78:f2"

func eno1() Link {
	return Link{
		Name: "eno1", MTU: 1500, Up: true, Running: true, Address: "3c:ec:ef:00:00:01",
		Permanent: "3c:ec:ef:00:00:01", Media: "1000Mb/s Twisted Pair",
		Addrs: []Addr{{IP: "192.0.2.10", Prefix: 24, Broadcast: "192.0.2.255"}},
	}
}

// ibs4d1 has carrier as soon as it is up, and then its link-local address.
func ibs4d1(up bool) Link {
	l := Link{
		Name: "ibs4d1", MTU: 2044, Address: ibAddress, Permanent: ibAddress, Media: "40000Mb/s Other",
		InfiniBand: true, Up: up, Running: true,
	}
	if up {
		l.Addrs = []Addr{{IP: "fe80::202:c903:31:78f2", Prefix: 64}}
	}
	return l
}

func (f *fakeSystem) link(name string) *Link {
	for i := range f.links {
		if f.links[i].Name == name {
			return &f.links[i]
		}
	}
	return nil
}

func (f *fakeSystem) Links() []Link {
	out := slices.Clone(f.links)
	for i := range out {
		out[i].Addrs = slices.Clone(out[i].Addrs)
	}
	return out
}

func (f *fakeSystem) SetUp(name string, up bool) error {
	l := f.link(name)
	l.Up = up
	isLL := func(a Addr) bool { return linkLocal(a.IP) }
	l.Addrs = slices.DeleteFunc(l.Addrs, isLL)
	if up && l.InfiniBand {
		l.Addrs = append(l.Addrs, Addr{IP: "fe80::202:c903:31:78f2", Prefix: 64})
	}
	return nil
}

func (f *fakeSystem) SetMTU(name string, mtu int) error {
	l := f.link(name)
	if l.InfiniBand && mtu > 4092 {
		return errors.New("Invalid argument") // the kernel's text
	}
	l.MTU = mtu
	return nil
}

func (f *fakeSystem) AddAddr(name string, a Addr) error {
	if a.IP == "10.10.10.2" {
		a.Broadcast = "10.10.10.255"
	}
	l := f.link(name)
	l.Addrs = slices.Insert(l.Addrs, 0, a)
	return nil
}

func (f *fakeSystem) DelAddr(name string, a Addr) error {
	l := f.link(name)
	l.Addrs = slices.DeleteFunc(l.Addrs, func(b Addr) bool { return a.IP == b.IP })
	return nil
}

func (f *fakeSystem) StartDHCP(name string) bool {
	a, ok := f.lease[name]
	if ok {
		_ = f.AddAddr(name, a)
	}
	return ok
}
func (f *fakeSystem) StopDHCP(string)         {}
func (f *fakeSystem) SetGateway(ip string)    { f.gateway = ip }
func (f *fakeSystem) BootID() string          { return f.bootID }
func (f *fakeSystem) Reboot(reason string)    { f.rebooted = append(f.rebooted, reason) }
func (f *fakeSystem) SetBootArgs(args string) { f.args = args }
func (f *fakeSystem) Log(line string)         { f.logs = append(f.logs, line) }
func (f *fakeSystem) Unsimulated(what string) { f.foreign = append(f.foreign, what) }

func (f *fakeSystem) ReplaceUdevRules(files map[string]string) { f.rules = maps.Clone(files) }

func (f *fakeSystem) RunScript(command string, _ time.Duration) error {
	f.ran = append(f.ran, command)
	if f.onScript != nil {
		f.onScript(command)
	}
	return nil
}

func (f *fakeSystem) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fakeSystem) Sleep(d time.Duration) { f.advance(d) }

func (f *fakeSystem) AfterFunc(d time.Duration, run func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.nextTimer
	f.nextTimer++
	f.timers[id] = fakeTimer{due: f.now.Add(d), run: run}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.timers, id)
	}
}

// advance moves the clock and runs what became due.
func (f *fakeSystem) advance(d time.Duration) {
	f.mu.Lock()
	f.now = f.now.Add(d)
	var due []func()
	for id, t := range f.timers {
		if !t.due.After(f.now) {
			due = append(due, t.run)
			delete(f.timers, id)
		}
	}
	f.mu.Unlock()
	for _, run := range due {
		run()
	}
}

// managedServer is a host whose management interface has a static row.
func managedServer(t *testing.T, links ...Link) (*Server, *fakeSystem) {
	t.Helper()
	f := newFake(links...)
	s := New(f, Options{})
	r := s.db.net.add("eno1")
	r.desc, r.aliases = "mgmt", []alias{{ip: "192.0.2.10", netmask: 24}}
	return s, f
}

func setRow(s *Server, name, desc, ip string, netmask, mtu int) {
	r := s.db.net.row(name)
	if r == nil {
		r = s.db.net.add(name)
	}
	r.desc, r.aliases, r.mtu = desc, []alias{{ip: ip, netmask: netmask}}, &mtu
}
