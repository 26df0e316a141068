//go:build linux

package umad

import (
	"encoding/binary"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// arrival is a datagram for a program, and who sent it.
type arrival struct {
	lid uint16
	qpn uint32
	sl  byte
	mad mad
}

// add registers an agent with the port. Two that want the same requests unasked cannot
// be, as two subnet managers on one port.
func (p *Port) add(a *agent) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.agents {
		for i := range a.methods {
			if a.class == b.class && a.methods[i]&b.methods[i] != 0 {
				return false
			}
		}
	}
	p.last++
	a.number = p.last
	p.agents[a.number] = a
	return true
}

func (p *Port) remove(a *agent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.agents, a.number)
}

// agentFor is who sent the request of an answer, or wants a request; nil if nobody.
func (p *Port) agentFor(m mad) *agent {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.isResponse() {
		return p.agents[uint32(m.transaction()>>32)]
	}
	for _, a := range p.agents {
		if a.class == m.class() && a.methods[m.method()/32]&(1<<(m.method()%32)) != 0 {
			return a
		}
	}
	return nil
}

// send sends the datagrams of an agent, in order and with none of others between, where
// the header of its program says. false says that the route of one is not this port's.
func (p *Port) send(a *agent, header []byte, list ...mad) bool {
	sent := true
	p.world.Do(func() {
		to := a.addressOf(header)
		for _, m := range list {
			local, ok := false, true
			if m.isDirected() {
				local, ok = m.depart(p.number)
			}
			switch {
			case !ok:
				sent = false
			case local:
				p.stay(a, header, m)
			default:
				p.transmit(m, to)
			}
		}
	})
	return sent
}

// address is where a datagram goes.
type address struct {
	lid      uint16
	from, to uint32 // queue pairs
	sl       byte
	key      uint16 // P_Key
}

// managementKey is the Q_Key of the queue pair 1.
const managementKey = 0x80010000

// transmit gives a datagram to the wire. What is lost is missed by who waits for an
// answer.
func (p *Port) transmit(m mad, to address) {
	k := &wire.Packet{SLID: p.firmware.LID(), DLID: to.lid, SL: to.sl, Opcode: wire.UDSend, PKey: to.key,
		SrcQP: to.from, DestQP: to.to, Payload: m}
	if to.to != 0 {
		k.QKey = managementKey
	}
	if m.isDirected() {
		k.SLID, k.DLID = wire.Permissive, wire.Permissive
	}
	p.firmware.Send(k)
}

// stay deals with a datagram that goes no further than the port of its sender, who
// gets the answer of the firmware, or else of another program. The kernel takes such a
// request for done once it is handed over, and never says that it was not answered
// (handle_outgoing_dr_smp and local_completions in Linux drivers/infiniband/core/mad.c).
func (p *Port) stay(a *agent, header []byte, m mad) {
	a.file.expectLocally(header, m)
	if out, served := p.serve(m); served {
		if out != nil {
			a.file.response(a, arrival{lid: wire.Permissive, mad: out})
		}
		return
	}
	p.hand(arrival{lid: wire.Permissive, mad: m})
}

// serve has the firmware deal with a datagram, if it does with such; nil is silence.
func (p *Port) serve(m mad) (answer mad, served bool) {
	if !m.isServed() {
		return nil, false
	}
	out, ok := p.firmware.MAD(m, false)
	if !ok || m.method() == methodTrapRepress { // which is an answer itself
		return nil, true
	}
	if m.isDirected() {
		out[atStatus] |= returning
	}
	return out, true
}

// hand gives a datagram to the program that it is for; false if there is none.
func (p *Port) hand(d arrival) bool {
	a := p.agentFor(d.mad)
	switch {
	case a == nil:
		return false
	case d.mad.isResponse():
		a.file.response(a, d)
	default:
		a.file.mu.Lock()
		a.file.deliver(a, d, 0)
		a.file.mu.Unlock()
	}
	return true
}

// receive takes a packet of the wire. It is called in the world.
func (p *Port) receive(k *wire.Packet) {
	if k.Opcode != wire.UDSend || k.DestQP > 1 || k.DestQP == 1 && !p.firmware.Admits(k, fabric.AnyPKey) {
		return
	}
	m := newMAD(k.Payload)
	if m.isDirected() && !m.arrive(p.number) {
		return
	}
	out, served := p.serve(m)
	if !served && !p.hand(arrival{lid: k.SLID, qpn: k.SrcQP, sl: k.SL, mad: m}) && m.isRequest() {
		out = m.unmatched()
	}
	if out == nil {
		return
	}
	if out.isDirected() {
		_, _ = out.depart(p.number)
	}
	p.transmit(out, address{lid: k.SLID, from: k.DestQP, to: k.SrcQP, sl: k.SL, key: k.PKey})
}

// packets makes of what a program wrote what goes on the wire.
func (a *agent) packets(b []byte) []mad {
	m := newMAD(b[headerSize:])
	if !m.isResponse() {
		binary.BigEndian.PutUint32(m[atTransaction:], a.number)
	}
	if a.rmpp && m[atFlags]&flagActive != 0 {
		return m.segments(b[headerSize:])
	}
	return []mad{m}
}

// addressOf reads from its header where a datagram is to go. It is called in the world.
func (a *agent) addressOf(b []byte) address {
	be := binary.BigEndian
	return address{lid: be.Uint16(b[atLID:]), from: uint32(a.qpn), to: be.Uint32(b[atQPN:]), sl: b[atSL],
		key: a.file.port.firmware.PKey(int(binary.NativeEndian.Uint16(b[atPKeyIndex:])))}
}

// response gives an answer to the request that waits for it.
func (f *File) response(a *agent, d arrival) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := d.mad.transaction()
	r := f.waiting[t]
	if r == nil {
		return // too late
	}
	if a.rmpp && d.mad[atFlags]&flagActive != 0 {
		f.partial[t] = append(f.partial[t], d.mad)
		if d.mad[atFlags]&flagLast == 0 {
			return
		}
		d.mad = assemble(f.partial[t])
		delete(f.partial, t)
	}
	r.Stop()
	delete(f.waiting, t)
	f.deliver(a, d, 0)
}
