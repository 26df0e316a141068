package connectivity

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ping"
)

// Kinds of problems.
const (
	NoInterface   = "no_interface"
	NoAddress     = "no_address"
	InterfaceDown = "interface_down"
	NoCarrier     = "no_carrier"
	NoSM          = "no_sm"
	Subnet        = "subnet"
	Partition     = "partition"
	Mode          = "mode"
	MTU           = "mtu"
	Oversized     = "oversized"
	Fragments     = "fragments"
	Unreachable   = "unreachable"
	Loss          = "loss"
)

// Problem is one thing that is not as it should be.
type Problem struct{ Kind, Where, Message string }

// Report is the judgement of a pair.
type Report struct {
	Reachable bool
	MTUOK     bool // packets of the interface's MTU pass in one piece
	Problems  []Problem
}

// Judge compares the two ends and what was measured; a is nil if nothing was.
func Judge(p Pair, a *ping.Answer) Report {
	var r Report
	r.Problems = append(p.From.problems("from"), p.addressProblems()...)
	if p.ToKnown {
		r.Problems = append(r.Problems, p.To.problems("to")...)
		r.Problems = append(r.Problems, p.between()...)
	}
	if a == nil {
		return r
	}
	r.Reachable = a.Default.Received > 0
	// Not "all": a lost packet is loss, and has a problem of its own.
	r.MTUOK = r.Reachable && a.Full.Received > 0
	r.Problems = append(r.Problems, p.packetProblems(a, len(r.Problems) > 0)...)
	return r
}

// Blockers are the messages of what keeps every packet from passing.
func (r Report) Blockers() []string {
	var all []string
	for _, p := range r.Problems {
		switch p.Kind {
		case NoInterface, NoAddress, InterfaceDown, NoCarrier, NoSM, Partition:
			all = append(all, p.Message)
		}
	}
	return all
}

func (e End) name() string {
	if e.Netdev == nil {
		return e.Host
	}
	return e.Netdev.Name + " of " + e.Host
}

// problems are those of one end alone.
func (e End) problems(side string) []Problem {
	n := e.Netdev
	switch {
	case n == nil:
		return e.missingInterface(side)
	case !n.Up:
		return []Problem{{InterfaceDown, e.name(),
			fmt.Sprintf("%s is down: ip link set dev %s up, or let infiniband_ipoib_interface do it for good.", e.name(),
				n.Name)}}
	case n.Carrier && (e.Port == nil || !n.IB || e.Port.State == "Active"):
		return nil
	case !n.IB:
		return []Problem{{NoCarrier, e.name(), fmt.Sprintf("%s has no carrier.", e.name())}}
	}
	return []Problem{e.link()}
}

// missingInterface is about an interface that is not there. At the far end its address is
// missing too, which is said already.
func (e End) missingInterface(side string) []Problem {
	switch {
	case e.Asked != "" && len(e.Has) > 0:
		return []Problem{{NoInterface, e.Host,
			fmt.Sprintf("%s has no interface %s; it has %s. The name of an interface may change with its link type, with "+
				"firmware and with a kernel: leave the name out, or write the present one.",
				e.Host, e.Asked, strings.Join(e.Has, ", "))}}
	case side == "from":
		return []Problem{{NoInterface, e.Host,
			fmt.Sprintf("%s has no such interface. With infiniband_ipoib_interface it gets one; without the module ib_ipoib, "+
				"or on a port that is Ethernet, there is none.", e.Host)}}
	}
	return nil
}

// link says why an InfiniBand interface carries nothing.
func (e End) link() Problem {
	switch {
	case e.Port != nil && e.Port.Physical != "LinkUp":
		return Problem{NoCarrier, e.name(),
			fmt.Sprintf("Port %d of card %s in %s has no link (%s): cable, other end off or an Ethernet port, or the port is "+
				"disabled.",
				e.Port.Number, e.Card.PCI, e.Host, e.Port.Physical)}
	case e.Port != nil && e.Port.State != "Active":
		return Problem{NoSM, e.name(),
			fmt.Sprintf("Port %d of card %s in %s has a link and is %s: no subnet manager has set it up. See infiniband_opensm.",
				e.Port.Number, e.Card.PCI, e.Host, e.Port.State)}
	}
	// The port is up: what is left is the partition. A carrier comes only with its broadcast group.
	switch e.membership() {
	case "":
		return Problem{NoCarrier, e.name(),
			fmt.Sprintf("%s has no carrier although its port is up: the P_Key %s is not in the port's table, or the broadcast "+
				"group of the partition cannot be joined.", e.name(), e.Netdev.PKey)}
	case "none":
		return Problem{Partition, e.name(),
			fmt.Sprintf("%s has no carrier although its port is up: the P_Key %s is not in the port's table, which has %s. "+
				"Make port %s a member of the partition in partitions of infiniband_opensm.",
				e.name(), e.Netdev.PKey, words(e.PKeys), e.Port.PortGUID)}
	}
	return Problem{NoCarrier, e.name(),
		fmt.Sprintf("%s has no carrier although its port is up and has the P_Key %s: the partition has no broadcast group "+
			"(ipoib = true in infiniband_opensm), or one whose mtu or rate is more than this port has.",
			e.name(), e.Netdev.PKey)}
}

// membership is how the port has the partition of its interface: "full",
// "limited", "none", or "" where its table is not known.
func (e End) membership() string {
	if len(e.PKeys) == 0 || e.Netdev == nil {
		return ""
	}
	found := "none"
	for _, k := range e.PKeys {
		switch {
		case key(fmt.Sprintf("0x%04x", k)) != key(e.Netdev.PKey):
		case k&0x8000 != 0:
			return "full"
		default:
			found = "limited"
		}
	}
	return found
}

func words(keys []uint16) string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = fmt.Sprintf("0x%04x", k)
	}
	return strings.Join(all, ", ")
}

func (p Pair) addressProblems() []Problem {
	var found []Problem
	if p.From.Netdev != nil && !p.From.Address.IsValid() {
		found = append(found, Problem{NoAddress, p.From.name(),
			fmt.Sprintf("%s has no address of this family.", p.From.name())})
	}
	switch {
	case !p.Addr.IsValid():
		found = append(found, Problem{NoAddress, p.To.name(),
			fmt.Sprintf("%s has no address that could be pinged.", p.To.name())})
	case p.ToKnown && p.To.Netdev == nil:
		found = append(found, Problem{NoAddress, p.To.Host,
			fmt.Sprintf("%s does not have the address %s.", p.To.Host, p.Addr)})
	case p.From.Address.IsValid() && !p.From.Address.Masked().Contains(p.Addr):
		found = append(found, Problem{Subnet, p.From.name(),
			fmt.Sprintf("%s of %s is in another subnet than %s.", p.From.Address, p.From.name(), p.Addr)})
	case p.From.Address.IsValid() && p.To.Address.IsValid() && !p.To.Address.Masked().Contains(p.From.Address.Addr()):
		found = append(found, Problem{Subnet, p.To.name(),
			fmt.Sprintf("%s of %s is in another subnet than %s: it gets packets and has no way to answer.", p.To.Address,
				p.To.name(), p.From.Address.Addr())})
	}
	return found
}

// between are the differences of two ends. Modes may differ: packets up to the datagram MTU
// pass, and multicast is limited to datagrams in any case. A connection that ib_ipoib made
// before the mode changed carries long packets on, and an interface in connected mode
// receives 65520 bytes whatever its MTU is (seen on Linux 6.1 and 6.12); so what passes is
// for the measured path MTU to say.
func (p Pair) between() []Problem {
	a, b := p.From.Netdev, p.To.Netdev
	if a == nil || b == nil {
		return nil
	}
	var found []Problem
	if a.IB && b.IB {
		found = append(found, p.partitions()...)
		if a.Mode != b.Mode && a.Mode != "" && b.Mode != "" {
			found = append(found, Problem{Mode, p.where(),
				fmt.Sprintf("%s is in %s mode and %s in %s mode: only datagrams are sure to pass between them. "+
					"Give both the same mode.", p.From.name(), a.Mode, p.To.name(), b.Mode)})
		}
	}
	if a.MTU != b.MTU {
		small, large := p.From, p.To
		if b.MTU < a.MTU {
			small, large = large, small
		}
		found = append(found, Problem{MTU, p.where(),
			fmt.Sprintf("%s has MTU %d and %s has %d: packets longer than %d may not pass in one piece. "+
				"Give both the same MTU.",
				small.name(), small.Netdev.MTU, large.name(), large.Netdev.MTU, small.Netdev.MTU)})
	}
	return found
}

// partitions says why two interfaces of InfiniBand never hear each other.
func (p Pair) partitions() []Problem {
	a, b := p.From.Netdev, p.To.Netdev
	switch {
	case key(a.PKey) != key(b.PKey):
		return []Problem{{Partition, p.where(),
			fmt.Sprintf("%s is in partition %s and %s in %s: they never hear each other.", p.From.name(), a.PKey, p.To.name(),
				b.PKey)}}
	// The hardware drops what one limited member sends to another, in both directions.
	case p.From.membership() == "limited" && p.To.membership() == "limited":
		return []Problem{{Partition, p.where(),
			fmt.Sprintf("Both ends are limited members of partition %s, and limited members never hear each other. Make one of "+
				"them a full member in partitions of infiniband_opensm.", a.PKey)}}
	}
	return nil
}

func (p Pair) where() string { return p.From.name() + " - " + p.To.name() }

// key leaves out the bit of full members.
func key(pkey string) string {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(pkey), "0x"), 16, 16)
	if err != nil {
		return pkey
	}
	return fmt.Sprintf("0x%04x", n&0x7fff)
}

// packetProblems is what the packets say; known is true if a cause is named already.
func (p Pair) packetProblems(a *ping.Answer, known bool) []Problem {
	where := p.From.name() + " - " + p.Addr.String()
	said := ""
	if a.Default.Said != "" {
		said = " ping says: " + a.Default.Said + "."
	}
	if a.Default.Received == 0 {
		hint := ""
		// A cause that was named already is likelier than a firewall.
		if !known {
			hint = " Both ends look right. Check a firewall that drops ICMP, and with ibnetdiscover that both ports are on " +
				"one fabric."
			if !p.ToKnown {
				hint = " The other end is not managed and was not looked at: check its address, link and firewall."
			}
		}
		return []Problem{{Unreachable, where,
			fmt.Sprintf("%s does not answer: %d of %d packets came back.%s%s", p.Addr, 0, a.Default.Sent, said, hint)}}
	}
	var found []Problem
	if a.Default.Received < a.Default.Sent {
		found = append(found, Problem{Loss, where,
			fmt.Sprintf("%.3g %% of %d small packets were lost.%s Look for growing error counters with infiniband_fabric.",
				a.Default.Loss(), a.Default.Sent, said)})
	}
	// None at all is a size that does not fit; some of them are loss.
	if a.Full.Received == 0 {
		limit := "the path MTU was not found"
		if a.PathMTU > 0 {
			limit = fmt.Sprintf("the path MTU is %d", a.PathMTU)
		}
		found = append(found, Problem{Oversized, where,
			fmt.Sprintf("Packets of the interface's MTU %d do not pass in one piece; %s. Long transfers hang or are slow.",
				p.From.Netdev.MTU, limit)})
	} else if a.Full.Received < a.Full.Sent {
		found = append(found, Problem{Loss, where,
			fmt.Sprintf("%.3g %% of %d packets of the interface's MTU were lost; small ones pass.", a.Full.Loss(), a.Full.Sent)})
	}
	// Only where whole ones pass: else the same cause would be told twice.
	if a.Fragmented.Received == 0 && a.Full.Received > 0 {
		found = append(found, Problem{Fragments, where,
			"Packets of the MTU pass and fragmented ones do not: a firewall drops fragments, or the other end takes less than " +
				"it sends."})
	}
	return found
}
