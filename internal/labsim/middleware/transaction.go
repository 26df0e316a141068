package middleware

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

var transactionMethods = map[string]method{
	"interface.has_pending_changes": {role: ifaceRead, call: func(s *Server, _ []any) (any, error) {
		return s.mem.snapshot != nil, nil
	}},
	"interface.checkin_waiting": {role: ifaceRead, call: (*Server).checkinWaiting},
	"interface.checkin":         {role: ifaceWrite, call: (*Server).checkin},
	"interface.rollback":        {role: ifaceWrite, call: (*Server).rollbackCall},
	"interface.commit": {role: ifaceWrite, call: (*Server).commit, params: []field{{
		name: "options", kind: kindModel, model: "InterfaceCommitOptions", fields: []field{
			{name: "rollback", kind: kindBool},
			{name: "checkin_timeout", kind: kindInt},
		},
	}}},
}

// snapshot keeps the interface tables as they were before the first pending
// change, in memory only.
func (s *Server) snapshot() {
	if s.mem.snapshot == nil {
		c := s.db.net.clone()
		s.mem.snapshot = &c
	}
}

func (s *Server) stopTimer() {
	if s.mem.stopTimer != nil {
		s.mem.stopTimer()
	}
	s.mem.stopTimer = nil
}

const defaultCheckin = 60

func (s *Server) commit(args []any) (any, error) {
	opts := asMap(args[0])
	s.sync()
	timeout := intOr(opts, "checkin_timeout", defaultCheckin)
	if !boolOr(opts, "rollback", true) || timeout == 0 {
		s.mem.snapshot = nil
		return nil, nil // null is the answer
	}
	s.stopTimer()
	wait := time.Duration(timeout) * time.Second
	s.mem.deadline = s.sys.Now().Add(wait)
	s.mem.stopTimer = s.sys.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.mem.stopTimer != nil {
			s.rollback()
		}
	})
	return nil, nil // null is the answer
}

func (s *Server) checkinWaiting([]any) (any, error) {
	if s.mem.stopTimer == nil {
		return nil, nil // null is the answer
	}
	return int(s.mem.deadline.Sub(s.sys.Now()) / time.Second), nil
}

func (s *Server) checkin([]any) (any, error) {
	s.stopTimer()
	s.mem.snapshot = nil
	return nil, nil // null is the answer
}

func (s *Server) rollbackCall([]any) (any, error) {
	s.rollback()
	return nil, nil // null is the answer
}

func (s *Server) rollback() {
	s.stopTimer()
	if s.mem.snapshot != nil {
		s.db.net = *s.mem.snapshot
		s.mem.snapshot = nil
	}
	s.sync()
}

// sync makes the kernel look like the database, for all interfaces. A failure
// of one interface is only logged: the call still succeeds.
func (s *Server) sync() {
	leased := false
	for _, l := range s.sys.Links() {
		if internalName(l.Name) || s.db.net.row(l.Name) != nil {
			continue
		}
		leased = s.unmanage(l) || leased
	}
	rows := append([]row(nil), s.db.net.rows...)
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].id < rows[j].id })
	for _, r := range rows {
		if r.dhcp && s.sys.StartDHCP(r.name) {
			leased = true
		}
		if err := s.apply(r); err != nil {
			s.sys.Log(fmt.Sprintf("[ERROR] (InterfaceService.sync():1) - Failed to configure %s: %v", r.name, err))
		}
	}
	switch {
	case s.db.net.gateway != "":
		s.sys.SetGateway(s.db.net.gateway)
	case !leased:
		s.sys.SetGateway("")
	}
}

// unmanage is what happens to an interface without a row: flushed and, once
// the database has any row, set down. Without rows it is given to DHCP.
func (s *Server) unmanage(l Link) (leased bool) {
	for _, a := range l.Addrs {
		if !linkLocal(a.IP) {
			s.note(l.Name, s.sys.DelAddr(l.Name, a))
		}
	}
	s.sys.StopDHCP(l.Name)
	if len(s.db.net.rows) > 0 {
		s.note(l.Name, s.sys.SetUp(l.Name, false))
		return false
	}
	s.note(l.Name, s.sys.SetUp(l.Name, true))
	return s.sys.StartDHCP(l.Name)
}

func (s *Server) note(name string, err error) {
	if err != nil {
		s.sys.Log("[WARNING] (InterfaceService.sync():1) - " + name + ": " + err.Error())
	}
}

func linkLocal(ip string) bool { return strings.HasPrefix(ip, "fe80:") }

// apply configures one interface: addresses, MTU, link up, in this order. An
// MTU that the kernel refuses therefore leaves addresses on a link that is not
// brought up.
func (s *Server) apply(r row) error {
	var link *Link
	for _, l := range s.sys.Links() {
		if l.Name == r.name {
			link = &l
			break
		}
	}
	if link == nil {
		return fmt.Errorf("interface %s not found", r.name)
	}
	want := r.aliases
	if r.dhcp && len(want) > 0 {
		want = want[1:] // the first alias lives in the row itself and gives way to the lease
	}
	if !r.dhcp {
		s.sys.StopDHCP(r.name)
	}
	if err := s.applyAddrs(*link, want, r.dhcp); err != nil {
		return err
	}
	mtu := defaultMTU
	if r.mtu != nil {
		mtu = *r.mtu
	}
	if link.MTU != mtu {
		if err := s.sys.SetMTU(r.name, mtu); err != nil {
			return err
		}
	}
	return s.sys.SetUp(r.name, true)
}

func (s *Server) applyAddrs(link Link, want []alias, dhcp bool) error {
	have := map[string]bool{}
	for _, a := range link.Addrs {
		have[fmt.Sprintf("%s/%d", a.IP, a.Prefix)] = true
		// A leased address is dhclient's business.
		if linkLocal(a.IP) || isWanted(want, a) || dhcp && !a.V6() {
			continue
		}
		if err := s.sys.DelAddr(link.Name, a); err != nil {
			return err
		}
	}
	for _, w := range want {
		if have[fmt.Sprintf("%s/%d", w.ip, w.netmask)] {
			continue
		}
		if err := s.sys.AddAddr(link.Name, Addr{IP: w.ip, Prefix: w.netmask}); err != nil {
			return err
		}
	}
	return nil
}

func isWanted(want []alias, a Addr) bool {
	for _, w := range want {
		if w.ip == a.IP && w.netmask == a.Prefix {
			return true
		}
	}
	return false
}

// DeviceAppeared re-applies the row of one interface, as the udev hook does
// when a driver registers a network device.
func (s *Server) DeviceAppeared(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.db.net.row(name); r != nil && !s.down {
		s.note(name, s.apply(*r))
	}
}

// Boot is what the middleware does from power-on to READY, with everything in
// memory gone: it regenerates the udev rules, syncs the interfaces from the
// database (a change updated but never committed is applied here) and runs
// the PREINIT and POSTINIT scripts. PREINIT is not ordered against the network
// and normally comes later.
func (s *Server) Boot() {
	s.mu.Lock()
	s.restart()
	s.sync()
	s.mu.Unlock()
	s.RunInitTasks("PREINIT")
	s.mu.Lock()
	// READY comes before the POSTINIT scripts ran.
	s.mem.ready = true
	s.mu.Unlock()
	s.RunInitTasks("POSTINIT")
}
