package wire

import "testing"

// sink counts what comes in at a port.
type sink struct{ got int }

func (s *sink) Receive(*Packet)   { s.got++ }
func (s *sink) LinkChanged()      {}
func (s *sink) Damaged(int, bool) {}

// Packets of one port that wait do not have those of another discarded.
func TestPort_bounded(t *testing.T) {
	w := &World{}
	ends := make([]sink, 4)
	var ports []*Port
	for i := range ends {
		p := NewPort(w, &ends[i])
		w.Do(func() { p.SetEnabled(true) })
		ports = append(ports, p)
	}
	Connect(ports[0], ports[1])
	Connect(ports[2], ports[3])
	sent := 0
	w.Do(func() {
		for ports[0].Send(&Packet{}) {
			sent++
		}
		if sent != mostQueued || ports[0].Loop(&Packet{}) {
			t.Errorf("%d packets of a port wait", sent)
		}
		if !ports[2].Send(&Packet{}) {
			t.Error("a packet of another port is discarded")
		}
	})
	for w.left() > 0 {
		w.Do(func() {})
	}
	if ends[1].got != sent || ends[3].got != 1 {
		t.Errorf("%d of %d packets arrived, and %d of the other", ends[1].got, sent, ends[3].got)
	}
	w.Do(func() {
		if !ports[0].Send(&Packet{}) {
			t.Error("a port whose packets have arrived sends none")
		}
	})
}

// left is how many packets wait.
func (w *World) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}
