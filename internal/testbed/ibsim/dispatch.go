//go:build testbed && linux

package ibsim

import (
	"encoding/binary"
)

// transaction is the identifier by which an answer is told from others. Its upper
// half is the kernel's: the adapter's number of the agent, below a part that ibsim
// overwrites with the number of its client.
func (p *packet) transaction() uint64 {
	return binary.BigEndian.Uint64(p.mad[atTransaction:]) & 0xffff_ffff_ffff
}

func (p *packet) isResponse() bool { return p.mad[atMethod]&methodResponse != 0 }

// add registers an agent with the adapter. Two that want the same requests
// unasked cannot be, as two subnet managers on one port.
func (h *HCA) add(a *agent) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.agents {
		for i := range a.methods {
			if a.class == b.class && a.methods[i]&b.methods[i] != 0 {
				return false
			}
		}
	}
	if h.agents == nil {
		h.agents = map[uint16]*agent{}
	}
	for h.last++; h.agents[h.last] != nil; h.last++ {
	}
	a.hca = h.last
	h.agents[a.hca] = a
	return true
}

func (h *HCA) remove(a *agent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.agents, a.hca)
}

// arrive gives a packet of the fabric to the agent that it is for.
func (h *HCA) arrive(p *packet) {
	back := p.status == undeliverable
	if a := h.agentFor(p, back); a != nil {
		switch {
		case back:
			a.file.giveUp(a, p)
		case p.isResponse():
			a.file.response(a, p)
		default:
			a.file.mu.Lock()
			a.file.deliver(a, p, 0, p.mad[:])
			a.file.mu.Unlock()
		}
	}
}

func (h *HCA) agentFor(p *packet, back bool) *agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.isResponse() || back {
		// An answer that came back found nobody; as on a wire its sender is not told.
		if p.isResponse() && back {
			return nil
		}
		return h.agents[binary.BigEndian.Uint16(p.mad[atTransaction+2:])]
	}
	method := p.mad[atMethod]
	for _, a := range h.agents {
		if a.class == p.mad[atClass] && a.methods[method/32]&(1<<(method%32)) != 0 {
			return a
		}
	}
	return nil
}

// packets makes of what a program wrote what goes on the wire.
func (a *agent) packets(b []byte) []*packet {
	p := &packet{dlid: [2]byte(b[atLID:]), dqp: [4]byte(b[atQPN:]), sqp: [4]byte{3: a.qpn}}
	if p.dlid == [2]byte{0xff, 0xff} {
		p.slid = p.dlid // by the route alone; ibsim fills in a LID of 0
	}
	copy(p.mad[:], b[headerSize:])
	if !p.isResponse() {
		binary.BigEndian.PutUint16(p.mad[atTransaction+2:], a.hca)
	}
	if a.rmpp && p.mad[atFlags]&flagActive != 0 {
		return p.segments(b[headerSize:])
	}
	return []*packet{p}
}

// response gives an answer to the request that waits for it.
func (f *File) response(a *agent, p *packet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := p.transaction()
	r := f.waiting[t]
	if r == nil {
		return // too late
	}
	mad := p.mad[:]
	if a.rmpp && p.mad[atFlags]&flagActive != 0 {
		f.partial[t] = append(f.partial[t], p)
		if p.mad[atFlags]&flagLast == 0 {
			return
		}
		mad = assemble(f.partial[t])
		delete(f.partial, t)
	}
	r.timer.Stop()
	delete(f.waiting, t)
	if order := r.sent.order(); order != physicalNoChange && f.hca.own != f {
		// In a goroutine: ibsim may want to be read meanwhile.
		go func() {
			f.hca.obey(order, r.sent)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.deliver(a, p, 0, mad)
		}()
		return
	}
	f.deliver(a, p, 0, mad)
}
