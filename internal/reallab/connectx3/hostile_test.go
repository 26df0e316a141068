//go:build linux

package connectx3

import (
	"bytes"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// A program is what two hostile machines do to their cards, as bytes: each step is its
// kind, with the machine in bit 7, and what it needs. Whatever is missing at the end is 0.
const (
	stepMemory   = iota // address of 24 bits, length of 8, data
	stepCommand         // command of 16 bits, modifiers of 8 and 32, address of 24
	stepDoorbell        // offset of 16 bits, size (odd is 8, even 4), value
	stepRegister        // address of 24 bits, value of 32
	stepSpace           // offset of 16 bits, value of 32
	steps
)

// script writes programs.
type script struct{ b []byte }

func (s *script) step(kind byte, parts ...[]byte) {
	s.b = append(s.b, kind)
	for _, p := range parts {
		s.b = append(s.b, p...)
	}
}

func bits24(v uint64) []byte { return be.AppendUint32(nil, uint32(v))[1:] }
func bits16(v uint32) []byte { return be.AppendUint16(nil, uint16(v)) }
func bits32(v uint32) []byte { return be.AppendUint32(nil, v) }

func (s *script) memory(machine byte, addr uint64, data []byte) {
	for ; len(data) > 0; addr, data = addr+128, data[min(128, len(data)):] {
		piece := data[:min(128, len(data))]
		s.step(machine+stepMemory, bits24(addr), []byte{byte(len(piece))}, piece)
	}
}

func (s *script) command(machine byte, op, mod uint32, in []byte) {
	s.memory(machine, inBox, in)
	s.step(machine+stepCommand, bits16(op), []byte{0}, bits32(mod), bits24(inBox))
}

func (s *script) ring(machine byte, off, v uint32) {
	s.step(machine+stepDoorbell, bits16(off), []byte{4}, bits32(v))
}

// reader reads a program.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	out := make([]byte, n)
	r.b = r.b[copy(out, r.b):]
	return out
}

func (r *reader) number(n int) uint64 {
	return be.Uint64(append(make([]byte, 8-n), r.take(n)...))
}

// mostSteps bounds a program.
const mostSteps = 300

// run runs a program on two cards with a cable between them.
func (r *reader) run(cards [2]*driver) {
	for range mostSteps {
		if len(r.b) == 0 {
			return
		}
		kind := r.take(1)[0]
		d := cards[kind>>7]
		switch kind & 0x7f % steps {
		case stepMemory:
			addr := r.number(3) % (guestSize - 256)
			d.put(addr, r.take(int(r.number(1))))
		case stepCommand:
			op, opMod, mod := uint32(r.number(2))&0xfff, uint32(r.number(1))&0xf, uint32(r.number(4))
			d.raw(op, opMod, mod, r.number(3))
		case stepDoorbell:
			off, size := r.number(2), 4+4*(r.number(1)&1)
			d.WriteRegion(vfiouser.BAR2, off, r.take(int(size)))
		case stepRegister:
			addr := r.number(3) % bar0Size &^ 3
			d.WriteRegion(vfiouser.BAR0, addr, r.take(4))
			d.ReadRegion(vfiouser.BAR0, addr, make([]byte, 4))
		case stepSpace:
			off := r.number(2) % (4096 - 4)
			d.WriteRegion(vfiouser.Config, off, r.take(4))
			d.ReadRegion(vfiouser.Config, off, make([]byte, 4))
		}
	}
}

// hostilePair is two cards with a cable, both ports active with LIDs 1 and 2.
func hostilePair(t testing.TB) (cards [2]*driver, w *wire.World) {
	w = &wire.World{}
	cards = [2]*driver{newDriver(t, w, card.VPI(), 0), newDriver(t, w, card.VPI(), 1)}
	cards[0].peer, cards[1].peer = 2, 1
	wire.Connect(cards[0].Port(1), cards[1].Port(1))
	for _, d := range cards {
		d.must(initPort, 1, nil)
	}
	for _, state := range []byte{fabric.Armed, fabric.Active} {
		for i, d := range cards {
			m := make([]byte, 256)
			m[0], m[1], m[2], m[3] = 1, 1, 1, 2 // Set of PortInfo
			m[17], m[23] = 0x15, 1
			m[64+17], m[64+19], m[64+32] = byte(i+1), 1, state
			d.must(madIFC, 1, m)
		}
	}
	return cards, w
}

// ordinary is what a driver does that opens its card and sends: open and post of the other
// tests, as a program of both machines.
func ordinary(service byte) []byte {
	s := &script{}
	for _, m := range []byte{0, 0x80} {
		s.command(m, mapICM, 1, append(make([]byte, 8), be.AppendUint64(nil, pageTable)...))
		init := make([]byte, 1024)
		init[0xfb] = 10
		s.command(m, initHCA, 0, init)
		mtt := make([]byte, 16)
		for _, p := range []uint64{pageEQ, pageCQ, pageQP} {
			mtt = be.AppendUint64(mtt, p|1)
		}
		s.command(m, writeMTT, 3, mtt)
		event := make([]byte, 64)
		be.PutUint32(event, 9<<8)
		event[12] = 5
		s.command(m, setEQ, 1, event)
		completion := make([]byte, 64)
		be.PutUint32(completion[12:], 5<<24)
		completion[23] = 1
		be.PutUint32(completion[28:], 8)
		s.command(m, setCQ, 7, completion)
		c := make([]byte, 8+contextSize)
		c[8+ctxService] = service
		c[8+ctxReceive], c[8+ctxSend] = 2<<3, 2<<3|2
		be.PutUint32(c[8+ctxSendCQ:], 7)
		be.PutUint32(c[8+ctxReceiveCQ:], 7)
		be.PutUint64(c[8+ctxRecord:], recordQP)
		be.PutUint32(c[8+ctxMTTLow:], 16)
		for i := range uint64(4) {
			s.memory(m, pageQP+i*64, bits32(1<<31))
		}
		s.command(m, resetToInit, qpNumber, c)
		c[8+ctxMTU] = 1 << 5
		be.PutUint16(c[8+ctxPath+6:], uint16(2-m>>7))
		be.PutUint32(c[8+ctxRemote:], qpNumber)
		be.PutUint32(c[8+ctxParams:], 7<<16|7<<13)
		s.command(m, initToRTR, qpNumber, c)
		s.command(m, rtrToRTS, qpNumber, c)
		receive := append(bits32(2048), bits32(reservedKey)...)
		s.memory(m, pageQP+256, be.AppendUint64(receive, pageData))
		s.memory(m, recordQP, bits32(1))
	}
	send := make([]byte, 64)
	be.PutUint32(send, opSend)
	send[7] = 2
	be.PutUint32(send[8:], flagCompleted)
	be.PutUint32(send[16:], 900)
	be.PutUint32(send[20:], reservedKey)
	be.PutUint64(send[24:], pageData)
	s.memory(0, pageQP, send)
	s.ring(0, 0x14, qpNumber<<8)
	s.ring(0x80, 0x808, 1<<31)
	return s.b
}

// TestHostile_ordinary holds that the seed of the fuzz test is what it says: a message
// goes from one card to the other.
func TestHostile_ordinary(t *testing.T) {
	cards, _ := hostilePair(t)
	cards[0].put(pageData, []byte("message"))
	(&reader{b: ordinary(0)}).run(cards)
	if e := cards[1].completion(0); be.Uint32(e[20:]) != 900 {
		t.Errorf("received: % x", e)
	}
	if e := cards[0].completion(0); e[31]&0x5f != 0x40|opSend {
		t.Errorf("sent: % x", e)
	}
}

// FuzzMachines holds that two hostile machines do their cards and each other no harm: what
// they do ends, and the cards still answer.
func FuzzMachines(f *testing.F) {
	card.SmallImages() // a card is made for each program
	for _, service := range []byte{0, 3, 7} {
		f.Add(ordinary(service))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		cards, w := hostilePair(t)
		(&reader{b: program}).run(cards)
		w.Do(func() {})
		for _, d := range cards {
			d.WriteRegion(vfiouser.BAR0, regReset, bits32(1))
			d.must(queryFW, 0, nil)
			d.bus.Unmap()
		}
	})
}

// endless has a queue pair that is connected with itself write its own send queue: the
// first of four requests copies an image of the queue, of the next turn's owner bit, over
// it, and in that image the first request copies the other one back.
func (d *driver) endless() *qp {
	d.Helper()
	const image = pageData // and the other one 256 bytes on
	var q *qp
	d.world.Do(func() {
		q = d.hca.qps[qpNumber]
		q.Remote.Path.DLID, q.Remote.QueuePair = 1, qpNumber
		q.ExpectFrom(0)
		q.SendFrom(0)
		q.head = 0
	})
	for turn := range uint32(2) {
		b := make([]byte, 256)
		for i := range 4 {
			be.PutUint32(b[64*i:], turn<<31|opNop)
		}
		be.PutUint32(b, turn<<31|opWrite)
		b[7] = 3
		be.PutUint64(b[16:], pageQP)
		be.PutUint32(b[24:], reservedKey)
		be.PutUint32(b[32:], 256)
		be.PutUint32(b[36:], reservedKey)
		be.PutUint64(b[40:], uint64(image+256*(1-turn)))
		d.put(uint64(image+256*turn), b)
	}
	d.put(pageQP, d.get(image, 256))
	d.WriteRegion(vfiouser.BAR2, 0x14, bits32(qpNumber<<8))
	return q
}

// TestHostile_endless: a queue pair that feeds itself for ever leaves the others time.
func TestHostile_endless(t *testing.T) {
	cards, w := hostilePair(t)
	(&reader{b: ordinary(0)}).run(cards)
	key := make([]byte, 64)
	be.PutUint32(key, keyPhysical|keyRemoteWrite)
	cards[0].must(setMPT, 1, key)
	var q *qp
	done := make(chan struct{})
	go func() {
		defer close(done)
		q = cards[0].endless()
		cards[1].must(queryFW, 0, nil)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the world stands still")
	}
	const reads = 100
	begin := time.Now()
	for range reads {
		cards[1].ReadRegion(vfiouser.BAR0, regReset, make([]byte, 4))
	}
	if each := time.Since(begin) / reads; each > time.Second {
		t.Errorf("a register of the other card answers after %s", each)
	} else {
		t.Logf("a register of the other card answers after %s", each)
	}
	w.Do(func() { // end it
		if q.head < 1000 {
			t.Errorf("it ended after %d requests", q.head)
		}
		q.State = 0
	})
}

// TestHostile_limits: a machine cannot make a card hold more than a card holds.
func TestHostile_limits(t *testing.T) {
	cards, _ := hostilePair(t)
	d := cards[0]
	(&reader{b: ordinary(3)}).run(cards)
	c := make([]byte, 8+contextSize)
	c[8+ctxService] = 3
	d.put(inBox, c)
	for op, most := range map[uint32]uint32{resetToInit: mostPairs, setCQ: 1 << logCQs, setSRQ: 1 << logSRQs} {
		if op != resetToInit {
			d.put(inBox, make([]byte, 64))
		}
		var last byte
		for n := range most + 2 {
			last = d.raw(op, 0, n, inBox)
		}
		if last != hcr.BadResource {
			t.Errorf("command %#x: status %#x after %d", op, last, most)
		}
	}
	big := bytes.Repeat([]byte{0xff}, 64)
	be.PutUint32(big[12:], logCompletions<<24)
	begin := time.Now()
	d.command(modifyCQ, 0, 1, big)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the largest completion queue takes %s", took)
	}
}
