package fabric

import "github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"

// Answer is what a host sends for a datagram that is for the firmware of its card; nil if it
// sends nothing. The datagram has arrived at the port, or a program of the host has sent it
// to its own port. A route that goes on from here is no route: only switches forward.
func (p *HCAPort) Answer(k *wire.Packet) *wire.Packet {
	m := append(mad(nil), k.Payload...)
	if m.class() == classDirected && m[7] > 0 {
		if m[6] != m[7] {
			return nil
		}
		m.returnPath()[m[6]] = byte(p.number)
	}
	out, ok := p.MAD(m, k.SLID, false)
	if !ok || m.method() == methodStop { // which is an answer itself
		return nil
	}
	if m.class() == classDirected {
		be.PutUint16(out[4:], be.Uint16(out[4:])|directionBit)
	}
	return &wire.Packet{SLID: k.DLID, DLID: k.SLID, DestQP: k.SrcQP, SrcQP: k.DestQP, PKey: p.ownKey(k.PKey), QKey: k.QKey,
		Opcode: wire.UDSend, Payload: out}
}

// lone is a card in a host without programs.
type lone struct{ port *HCAPort }

// NewLone makes a card with one port, in a host that has a driver and no programs. The port
// is on.
func NewLone(w *wire.World, node Node, guid uint64) *wire.Port {
	l := &lone{}
	l.port = NewHCAPorts(w, 1, l)[0]
	w.Do(func() {
		l.port.Reset(node, guid)
		l.port.Enable(true)
	})
	return l.port.Wire()
}

// StateChanged implements Events.
func (*lone) StateChanged(int, bool) {}

// Deliver implements Events.
func (l *lone) Deliver(_ int, k *wire.Packet) {
	if k.DestQP > 1 || len(k.Payload) != MADSize {
		return
	}
	if m := mad(k.Payload).method(); m != methodGet && m != methodSet && m != methodStop {
		return
	}
	if answer := l.port.Answer(k); answer != nil {
		l.port.Send(answer)
	}
}
