package fabric

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// isDirected reports whether a packet is a datagram that names its way itself.
func isDirected(k *wire.Packet) bool {
	return k.DestQP == 0 && k.Opcode == wire.UDSend && k.DLID == wire.Permissive && len(k.Payload) == MADSize &&
		mad(k.Payload).class() == classDirected
}

// directed forwards a directed-route datagram, or answers it (14.2.2). One whose route
// begins behind a way by LID comes with no hop done, and leaves for that LID at the end. On
// the directed part both LIDs are permissive, whatever the sender has put there: ib_qib
// puts its own, and answers the one it sees.
func (s *Switch) directed(in int, k *wire.Packet) {
	m := append(mad(nil), k.Payload...)
	if m[7] > 63 || m[6] > m[7]+1 {
		return
	}
	next := *k
	next.Payload, next.SLID, next.DLID = m, wire.Permissive, wire.Permissive
	if be.Uint16(m[4:])&directionBit != 0 {
		s.directedBack(in, m, &next)
		return
	}
	hop, count := int(m[6]), int(m[7])
	switch {
	case hop == 0 && count > 0 && m.beginsByLID():
		m[6]++
		s.out(in, int(m.initialPath()[1]), &next)
	case hop > 0 && hop < count:
		m.returnPath()[hop] = byte(in)
		m[6]++
		s.out(in, int(m.initialPath()[hop+1]), &next)
	case hop > 0 && hop == count:
		m.returnPath()[hop] = byte(in)
		m[6]++
		s.answerDirected(in, m, &next)
	}
}

// directedBack forwards an answer.
func (s *Switch) directedBack(in int, m mad, next *wire.Packet) {
	hop := int(m[6])
	switch {
	case hop >= 2 && hop <= int(m[7]):
		m[6]--
		s.out(in, int(m.returnPath()[hop-1]), next)
	case hop == 1 && m.beginsByLID():
		m[6]--
		next.SLID, next.DLID = s.lid(), be.Uint16(m[32:])
		s.route(0, next)
	}
}

// beginsByLID reports whether the part before the directed route goes by LID.
func (m mad) beginsByLID() bool { return be.Uint16(m[32:]) != wire.Permissive }

func (s *Switch) answerDirected(in int, m mad, next *wire.Packet) {
	if m.method() != methodGet && m.method() != methodSet {
		return
	}
	r := s.agent(in, wire.Permissive, m)
	if r == nil {
		return
	}
	r.setStatus(be.Uint16(r[4:]) | directionBit)
	r[6]--
	next.Payload, next.SrcQP, next.DestQP = r, 0, 0
	s.out(in, int(r.returnPath()[r[6]]), next)
}
