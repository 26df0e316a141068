package network

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const (
	icmpHeader = 8
	ipHeader   = 20
)

// ping is iputils ping for IPv4 over the simulated fabric.
func ping(ctx context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, "c=", "W=", "M=", "s=",
		"I=", "i=", "q", "n", "4", "w=")
	if bad != "" || len(o.Args) != 1 || o.Or("M", "do") != "do" {
		return p.Unknown("form of ping " + bad)
	}
	dst, err := netip.ParseAddr(o.Args[0])
	if err != nil {
		p.Errorf("ping: %s: Name or service not known\n", o.Args[0])
		return 2
	}
	j, err := newPing(o)
	if err != nil || dst.Is6() {
		return p.Unknown("form of ping: count, size, IPv4")
	}
	s := Of(p.Machine)
	dev, src, _, ok := s.Route(dst)
	if s.LocalAddr(dst) {
		dev, _ = p.Machine.Netdev("lo")
		src, ok = dst, true
	}
	if i := o.Or("I", ""); i != "" && i != src.String() {
		// What is bound to an interface is taken for on its link if no route says more.
		if dev, ok = p.Machine.Netdev(i); !ok {
			p.Errorf("ping: SO_BINDTODEVICE %s: No such device\n", i)
			return 2
		}
		src = firstAddr(&dev, src)
	}
	if !ok {
		p.Errorf("ping: connect: Network is unreachable\n")
		return 2
	}
	p.Printf("PING %s (%s) %d(%d) bytes of data.\n", dst, dst, j.size, j.size+icmpHeader+ipHeader)
	j.dev, j.src, j.dst = dev, src, dst
	return s.pingLoop(ctx, p, j)
}

// resolving is how many seconds Linux asks for an address before it says that
// nobody has it (mcast_solicit times retrans_time_ms).
const resolving = 3

// firstAddr is an IPv4 address of an interface, else another one of the host's.
func firstAddr(d *labsim.Netdev, other netip.Addr) netip.Addr {
	for _, a := range d.Addrs {
		if a.Addr().Is4() {
			return a.Addr()
		}
	}
	return other
}

// newPing reads the numbers of the command line.
func newPing(o *labsim.Flags) (j pingJob, err error) {
	j.dontFrag, j.quiet = o.Has("M"), o.Has("q")
	if j.count, err = strconv.Atoi(o.Or("c", "")); err != nil {
		return j, err
	}
	if j.size, err = strconv.Atoi(o.Or("s", "56")); err != nil {
		return j, err
	}
	if j.wait, err = strconv.ParseFloat(o.Or("W", "10"), 64); err != nil {
		return j, err
	}
	j.interval, err = strconv.ParseFloat(o.Or("i", "1"), 64)
	return j, err
}

type pingJob struct {
	dev      labsim.Netdev
	src, dst netip.Addr
	size     int
	count    int
	wait     float64 // for the last answer
	interval float64
	dontFrag bool
	quiet    bool
}

func (s *State) pingLoop(ctx context.Context, p *labsim.Proc, j pingJob) int {
	start := s.m.Lab.Clock.Now()
	total := j.size + icmpHeader + ipHeader
	received, failures := 0, 0
	answer := s.Reaches(&j.dev, j.src, j.dst, total)
	tooLong := j.dontFrag && total > j.dev.MTU
	for seq := 1; seq <= j.count; seq++ {
		switch {
		case tooLong:
			failures++
			if !j.quiet { // with -q the real one says nothing of it either
				p.Errorf("ping: local error: message too long, mtu=%d\n", j.dev.MTU)
			}
		case answer == Reached:
			received++
			if !j.quiet {
				p.Printf("%d bytes from %s: icmp_seq=%d ttl=64 time=0.0%d ms\n", j.size+icmpHeader, j.dst, seq, 40+seq%50)
			}
		case answer == Unreachable && float64(j.count-1)*j.interval+j.wait >= resolving:
			failures++
			if !j.quiet {
				p.Printf("From %s icmp_seq=%d Destination Host Unreachable\n", j.src, seq)
			}
		}
	}
	if received < j.count {
		// The last packet is waited for; the lab shortens the pauses in between.
		_ = s.m.Lab.Clock.Sleep(ctx, time.Duration(j.wait*float64(time.Second)))
	}
	elapsed := s.m.Lab.Clock.Now().Sub(start).Milliseconds() + int64(j.count-1)
	errs := ""
	if failures > 0 {
		errs = "+" + strconv.Itoa(failures) + " errors, "
	}
	p.Printf("\n--- %s ping statistics ---\n", j.dst)
	p.Printf("%d packets transmitted, %d received, %s%s%% packet loss, time %dms\n", j.count, received, errs,
		strconv.FormatFloat(float64(j.count-received)/float64(j.count)*100, 'g', 6, 64), elapsed)
	if received == 0 {
		p.Printf("\n")
		return 1
	}
	p.Printf("rtt min/avg/max/mdev = 0.041/0.045/0.052/0.004 ms\n")
	return 0
}

// Answer is what becomes of a packet.
type Answer int

// Answers.
const (
	Lost        Answer = iota // nobody says why
	Unreachable               // nobody has the address, or the way is down
	Reached
)

// Reaches says whether a packet gets to the host that has dst and back: both
// interfaces up with carrier, in one subnet and partition. What is longer than the
// receiver takes is lost.
func (s *State) Reaches(dev *labsim.Netdev, src, dst netip.Addr, total int) Answer {
	if dev.Type == labsim.TypeLoopback {
		return Reached
	}
	if !s.m.Carrier(dev) {
		return Unreachable
	}
	for _, peer := range s.m.Lab.Machines() {
		if !peer.Up() {
			continue
		}
		for _, d := range peer.Netdevs() {
			if !HasAddr(&d, dst) {
				continue
			}
			if !d.Up || !peer.Carrier(&d) || !s.shareMedium(dev, &d) || !holds(&d, src) {
				return Unreachable
			}
			if min(total, dev.MTU) > receives(dev, &d) || Of(peer).drops() {
				return Lost
			}
			return Reached
		}
	}
	return Unreachable
}

// receives is the longest packet of one interface that the other takes. A connection of
// ib_ipoib has buffers of 65520 bytes, whatever the MTU is (seen on Linux 6.1 and 6.12).
func receives(from, to *labsim.Netdev) int {
	if from.Mode == labsim.ModeConnected && to.Mode == labsim.ModeConnected {
		return labsim.ConnectedMaxMTU
	}
	return to.MTU
}

// HasAddr says whether an interface has an address.
func HasAddr(d *labsim.Netdev, a netip.Addr) bool {
	return slices.ContainsFunc(d.Addrs, func(p netip.Prefix) bool { return p.Addr() == a })
}

// holds says whether an address is in a network of an interface.
func holds(d *labsim.Netdev, a netip.Addr) bool {
	return slices.ContainsFunc(d.Addrs, func(p netip.Prefix) bool { return p.Masked().Contains(a) })
}

// shareMedium says whether two interfaces share a medium. Interfaces that are not a
// card's are all on the management network; Ethernet ports reach what their
// cable ends in.
func (s *State) shareMedium(a, b *labsim.Netdev) bool {
	if a.Port == nil || b.Port == nil {
		return a.Port == nil && b.Port == nil
	}
	if a.Type != b.Type || a.PKey&0x7fff != b.PKey&0x7fff {
		return false
	}
	if a.Type == labsim.TypeEthernet {
		return true
	}
	return slices.Contains(s.m.Lab.Reachable(a.Port), b.Port)
}

// SetFirewall makes a machine drop what comes in from other machines, but SSH.
func SetFirewall(m *labsim.Machine, on bool) {
	s := Of(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.firewall = on
}

func (s *State) drops() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.firewall
}
