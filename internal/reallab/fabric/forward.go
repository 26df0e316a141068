package fabric

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// The bits of PortInfo that have P_Keys enforced.
const (
	inbound  = 3
	outbound = 2
)

// passes reports whether the P_Keys that are enforced in a direction let a packet
// through. The subnet manager is told of one that they do not. What comes in is from the
// member whose P_Keys the port has, full or limited; what goes out is for it.
func (p *switchPort) passes(k *wire.Packet, direction uint) bool {
	admits := p.admits
	if direction == inbound {
		admits = p.inPartition
	}
	if p.info[atOperational]>>direction&1 == 0 || admits(k.PKey) {
		return true
	}
	countUp(p.info[atPKeyViolations:])
	p.of.notify.trap(typeSecurity, trapSwitchPKey, relayDetails(k, p.of.lid(), p.number))
	return false
}

// route sends a packet by the linear table. A port does not send back what has come in
// there.
func (s *Switch) route(in int, k *wire.Packet) {
	to := noPort
	if int(k.DLID) < linearSize && k.DLID <= be.Uint16(s.info[6:]) {
		to = int(s.linear[k.DLID])
	}
	switch {
	case to == 0 && in == 0 || to >= len(s.ports):
		s.ports[in].counters.RelayErrors++
	case to == 0:
		s.own(in, k)
	case to == in:
		s.ports[in].counters.RelayErrors++
	default:
		s.out(in, to, k)
	}
}

// spread sends a multicast packet to all ports of its group but the one it came from. A
// group that the table does not reach goes to the default port (18.2.4.3.3).
func (s *Switch) spread(from int, k *wire.Packet) {
	at := int(k.DLID - wire.FirstMulticast)
	if top := be.Uint16(s.info[18:]); at >= multicastSize || top != 0 && k.DLID > top {
		primary, other := int(s.info[9]), int(s.info[10])
		switch {
		case primary != from:
			s.out(from, primary, k)
		case other != from:
			s.out(from, other, k)
		}
		return
	}
	for n := 1; n < len(s.ports); n++ {
		if n != from && s.multicast[at][n/16]>>(n%16)&1 != 0 {
			s.out(from, n, k)
		}
	}
}

// out sends a packet to a port. Before a port is armed it carries management only.
func (s *Switch) out(from, n int, k *wire.Packet) {
	if n < 1 || n >= len(s.ports) || k.Hops >= wire.MaxHops {
		return
	}
	p := s.ports[n]
	if k.DestQP != 0 {
		switch {
		case !p.passes(k, outbound):
			p.counters.XmitConstraint++
			return
		case p.state < Armed || p.tooLong(k) || p.slToVL[from][k.SL/2&7]>>(4*(1-k.SL%2))&0xf == dropVL:
			p.counters.XmitDiscards++
			return
		}
	}
	next := *k
	next.Hops++
	if !p.wire.Send(&next) {
		p.counters.XmitDiscards++
		return
	}
	p.sent(k)
}

// dropVL is the virtual lane that stands for none in SLtoVL.
const dropVL = 15
