//go:build linux

package connectx3

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

const mac = 0xe41d2de44ed0

// driver is a machine with a card: it does what the kernel's driver does.
type driver struct {
	testing.TB
	*Card
	world *wire.World
	peer  uint16 // LID that connections go to
}

// Services of a queue pair.
const reliable, datagram = 0, 3

const guestSize = 4 << 20

func newDriver(t testing.TB, w *wire.World, image []byte, i uint64) *driver {
	t.Helper()
	base := mac + i*0x10
	model, err := card.New(card.Config{Chip: card.ConnectX3Pro, Image: image, MACs: [2]uint64{base, base + 1},
		GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(base))})
	if err != nil {
		t.Fatal(err)
	}
	board := registers.Board{PartNumber: "MCX354A-FCCT", SerialNumber: "MT1234X00001"}
	d := &driver{t, New(w, Config{Name: "card", Model: model, Board: board}), w, 0}
	fd, err := unix.MemfdCreate("guest", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, guestSize); err != nil {
		t.Fatal(err)
	}
	if err := d.bus.Map(0, guestSize, 0, fd); err != nil {
		t.Fatal(err)
	}
	return d
}

// put and get reach the machine's memory.
func (d *driver) put(addr uint64, p []byte) {
	d.Helper()
	if err := d.bus.Write(addr, p); err != nil {
		d.Fatal(err)
	}
}

func (d *driver) get(addr uint64, n int) []byte {
	p := make([]byte, n)
	_ = d.bus.Read(addr, p)
	return p
}

func (d *driver) put32(addr uint64, v uint32) { d.put(addr, be.AppendUint32(nil, v)) }

// Where the driver keeps its mailboxes.
const inBox, outBox = 0x1000, 0x2000

// command writes the command register and gives the status.
func (d *driver) command(op, opMod, mod uint32, in []byte) byte {
	d.Helper()
	d.put(inBox, in)
	return d.raw(op, opMod, mod, inBox)
}

func (d *driver) raw(op, opMod, mod uint32, in uint64) byte {
	var b []byte
	for _, v := range []uint32{uint32(in >> 32), uint32(in), mod, 0, outBox, 0, op | opMod<<12 | 1<<23} {
		b = be.AppendUint32(b, v)
	}
	d.WriteRegion(vfiouser.BAR0, hcr.Base, b)
	out := make([]byte, 4)
	d.ReadRegion(vfiouser.BAR0, hcr.Base+24, out)
	return out[0]
}

func (d *driver) must(op, mod uint32, in []byte) []byte {
	d.Helper()
	if s := d.command(op, 0, mod, in); s != hcr.OK {
		d.Fatalf("command %#x: status %#x", op, s)
	}
	return d.get(outBox, 1024)
}

// The card is what it has booted: Ethernet-only firmware gives ports of Ethernet, and
// firmware that is burned counts from the next reset on.
func TestCard_boots_what_is_in_flash(t *testing.T) {
	d := newDriver(t, &wire.World{}, card.EN(), 0)
	version := func() [3]uint16 {
		o := d.must(queryFW, 0, nil)
		return [3]uint16{be.Uint16(o[2:]), be.Uint16(o[6:]), be.Uint16(o[4:])}
	}
	if v := version(); v != [3]uint16{2, 40, 5032} {
		t.Errorf("version %v", v)
	}
	if o := d.must(queryPort, 1, nil); o[0]&typesOfBoth != typeEthernet || be.Uint64(o[0x10:]) != mac {
		t.Errorf("port: types %#x, MAC %#x", o[0], be.Uint64(o[0x10:]))
	}
	if s := d.command(setPort, 0, 1, make([]byte, 64)); s != hcr.BadParam {
		t.Errorf("InfiniBand on Ethernet-only firmware: status %#x", s)
	}
	other, err := card.New(card.Config{Chip: card.ConnectX3Pro, Image: card.VPI(), MACs: [2]uint64{mac, mac + 1},
		GUIDs: card.GUIDsFromBase(card.GUIDFromMAC(mac))})
	if err != nil {
		t.Fatal(err)
	}
	d.Model.Flash = other.Flash
	if v := version(); v != [3]uint16{2, 40, 5032} {
		t.Errorf("before a reset: version %v", v)
	}
	d.WriteRegion(vfiouser.BAR0, regReset, []byte{0, 0, 0, 1})
	if v := version(); v != [3]uint16{2, 42, 5000} {
		t.Errorf("after a reset: version %v", v)
	}
	if o := d.must(queryPort, 1, nil); o[0]&typesOfBoth != typesOfBoth {
		t.Errorf("types %#x", o[0])
	}
	var psid []byte
	for i := range 16 {
		psid = append(psid, d.must(queryAdapter, 0, nil)[0xf0+i&^3+3-i&3])
	}
	if got := string(bytes.TrimRight(psid, "\x00")); got != card.PSIDVPI {
		t.Errorf("PSID %q", got)
	}
}

// Tools reach registers and vital product data through the configuration space.
func TestCard_configuration_space(t *testing.T) {
	d := newDriver(t, &wire.World{}, card.VPI(), 0)
	word := func(off uint64, n int) []byte {
		b := make([]byte, n)
		d.ReadRegion(vfiouser.Config, off, b)
		return b
	}
	if id := le.Uint32(word(0, 4)); id != 0x100715b3 {
		t.Errorf("id %#x", id)
	}
	d.WriteRegion(vfiouser.Config, 0, []byte{1, 2})
	if id := le.Uint32(word(0, 4)); id != 0x100715b3 {
		t.Error("the id can be changed")
	}
	d.WriteRegion(vfiouser.Config, registers.WindowAddr, []byte{0x14, 0, 0xf, 0})
	if id := le.Uint32(word(registers.WindowData, 4)); id&0xffff != 0x1f7 {
		t.Errorf("hardware id %#x", id)
	}
	var vpd []byte
	for at := range byte(64) {
		d.WriteRegion(vfiouser.Config, capVPD+2, []byte{at * 4, 0})
		if word(capVPD+3, 1)[0]&0x80 == 0 {
			t.Fatal("no data comes")
		}
		vpd = append(vpd, word(capVPD+4, 4)...)
	}
	if !bytes.Contains(vpd, []byte("MT1234X00001")) {
		t.Errorf("vital product data %q", vpd)
	}
}

// Places in the machine's memory, each a page, and the page of the tables that has its
// address.
const (
	pageEQ, pageCQ, pageQP, pageData = 0x10000, 0x11000, 0x12000, 0x13000
	pageTable, recordCQ, recordQP    = 0x20000, 0x21000, 0x21010
	qpNumber                         = 0x40
)

// open brings the card up with an event queue, a completion queue, and a queue pair of a
// service.
func (d *driver) open(service byte) {
	d.Helper()
	d.must(mapICM, 1, append(be.AppendUint64(nil, 0), be.AppendUint64(nil, pageTable)...))
	init := make([]byte, 1024)
	init[0xfb] = 10
	d.must(initHCA, 0, init)
	mtt := make([]byte, 16)
	for _, p := range []uint64{pageEQ, pageCQ, pageQP} {
		mtt = be.AppendUint64(mtt, p|1)
	}
	d.must(writeMTT, 3, mtt)
	event := make([]byte, 64)
	be.PutUint32(event, 9<<8)
	event[12] = 5
	d.must(setEQ, 1, event)
	completion := make([]byte, 64)
	be.PutUint32(completion[12:], 5<<24)
	completion[23] = 1
	be.PutUint32(completion[28:], 8)
	d.must(setCQ, 7, completion)
	d.must(initPort, 1, nil)
	d.world.Do(func() { d.hca.c.ports[0].Receive(&wire.Packet{}) })
	c := make([]byte, 8+contextSize)
	c[8+ctxService] = service
	c[8+ctxReceive], c[8+ctxSend] = 2<<3, 2<<3|2 // four requests of 16 and of 64 bytes
	be.PutUint32(c[8+ctxSendCQ:], 7)
	be.PutUint32(c[8+ctxReceiveCQ:], 7)
	be.PutUint64(c[8+ctxRecord:], recordQP)
	be.PutUint32(c[8+ctxMTTLow:], 16)
	for i := range uint64(4) {
		d.put32(pageQP+i*64, 1<<31) // belongs to the driver
	}
	d.must(resetToInit, qpNumber, c)
	c[8+ctxMTU] = 1 << 5
	be.PutUint32(c[8+ctxRemote:], qpNumber)
	be.PutUint16(c[8+ctxPath+6:], d.peer)
	be.PutUint32(c[8+ctxParams:], 7<<16|7<<13)
	d.must(initToRTR, qpNumber, c)
	d.must(rtrToRTS, qpNumber, c)
}

// post writes a send request of a number, for data of a length, and rings the doorbell.
func (d *driver) post(index uint64, length uint32) {
	at := pageQP + index*64
	d.put32(at+4, 2)
	d.put32(at+8, flagCompleted)
	d.put32(at+16, length)
	d.put32(at+20, reservedKey)
	d.put(at+24, be.AppendUint64(nil, pageData))
	d.put32(at, opSend)
	d.WriteRegion(vfiouser.BAR2, 0x14, be.AppendUint32(nil, qpNumber<<8))
}

// offer posts a receive request.
func (d *driver) offer(index uint64, length uint32) {
	at := pageQP + 256 + index*16
	d.put32(at, length)
	d.put32(at+4, reservedKey)
	d.put(at+8, be.AppendUint64(nil, pageData))
	d.put32(recordQP, uint32(index)+1)
}

// completion is the n-th; its owner bit must be that of the first turn.
func (d *driver) completion(n uint64) []byte {
	d.Helper()
	e := d.get(pageCQ+n*entrySize, entrySize)
	if e[31]&0x80 != 0 {
		d.Fatalf("completion %d is not there", n)
	}
	return e
}

// A message of several packets goes over a connection, and both sides are told.
func TestConnection_send(t *testing.T) {
	cards, _ := hostilePair(t)
	a, b := cards[0], cards[1]
	a.open(reliable)
	b.open(reliable)
	text := bytes.Repeat([]byte("over the wire "), 60) // four packets of 256 bytes
	a.put(pageData, text)
	b.offer(0, 2048)
	a.post(0, uint32(len(text)))
	if e := b.completion(0); e[31]&0x1f != gotSend || be.Uint32(e[20:]) != uint32(len(text)) {
		t.Errorf("received: % x", e)
	}
	if e := a.completion(0); e[31]&0x5f != 0x40|opSend || be.Uint32(e) != qpNumber {
		t.Errorf("sent: % x", e)
	}
	if got := b.get(pageData, len(text)); !bytes.Equal(got, text) {
		t.Errorf("got %q", got)
	}
	b.offer(1, 16) // too small
	a.post(1, 100)
	if e := a.completion(1); e[31]&0x1f != opcodeError || e[27] != byte(transport.RemoteInvalid) {
		t.Errorf("a message that is too long: % x", e)
	}
	a.post(2, 8)
	if e := a.completion(2); e[31]&0x1f != opcodeError || e[27] != byte(transport.Flushed) {
		t.Errorf("after the error: % x", e)
	}
}

// A queue pair that is drained begins nothing. What was posted then goes out when it sends
// again.
func TestQueuePair_drained(t *testing.T) {
	cards, _ := hostilePair(t)
	a, b := cards[0], cards[1]
	a.open(reliable)
	b.open(reliable)
	b.offer(0, 64)
	a.must(rtsToSQD, qpNumber, make([]byte, 8+contextSize))
	a.post(0, 8)
	if e := a.get(pageCQ, entrySize); e[31]&0x80 == 0 {
		t.Errorf("drained: % x", e)
	}
	a.must(sqdToRTS, qpNumber, make([]byte, 8+contextSize))
	if e := a.completion(0); e[31]&0x5f != 0x40|opSend {
		t.Errorf("sent: % x", e)
	}
}

// A program that has one message under way, as one that measures latency, makes a queue
// of one request. It is there.
func TestQueueOf_one_request(t *testing.T) {
	for b, want := range map[byte]queue{0: {entries: 1, stride: 4}, 2: {entries: 1, stride: 6}, 2<<3 | 2: {entries: 4, stride: 6},
		0xfc: {}} {
		if got := queueOf(b); got != want {
			t.Errorf("%#x: %+v, want %+v", b, got, want)
		}
	}
}

// A command that does not fit the state of a queue pair is refused, and one that makes none
// leaves none.
func TestQueuePair_wrong_command(t *testing.T) {
	d := newDriver(t, &wire.World{}, card.VPI(), 0)
	d.open(reliable)
	c := make([]byte, 8+contextSize)
	for _, op := range []uint32{initToInit, initToRTR} {
		if s := d.command(op, 0, qpNumber, c); s != hcr.BadState {
			t.Errorf("command %#x on a queue pair that sends: status %#x", op, s)
		}
	}
	c[8+ctxService] = 0xf
	if s := d.command(resetToInit, 0, qpNumber+1, c); s != hcr.BadParam {
		t.Errorf("a service that is not there: status %#x", s)
	}
	if state := d.must(queryQP, qpNumber+1, nil)[8] >> 4; state != byte(transport.Reset) {
		t.Errorf("its queue pair is in state %d", state)
	}
}

// What is in the queues comes back flushed when the queue pair goes into the error state.
func TestQueuePair_flush(t *testing.T) {
	d := newDriver(t, &wire.World{}, card.VPI(), 0)
	d.open(reliable)
	d.offer(0, 64)
	d.must(toError, qpNumber, nil)
	if e := d.completion(0); e[31]&0x5f != opcodeError || e[27] != byte(transport.Flushed) {
		t.Errorf("receive request: % x", e)
	}
	if e := d.get(pageCQ+entrySize, entrySize); e[31]&0x80 == 0 {
		t.Errorf("one more completion: % x", e)
	}
}

// A queue pair with a shared receive queue tells once that it took its last request. IPoIB
// frees it then: told again, it wrote into memory that was no longer its own.
func TestQueuePair_last_request(t *testing.T) {
	d := newDriver(t, &wire.World{}, card.VPI(), 0)
	d.open(reliable)
	d.world.Do(func() {
		d.hca.qps[qpNumber].srq, d.hca.qps[qpNumber].Shared = &srq{}, true
		d.hca.routes[eventLastRequest] = route{eq: 1, set: true}
	})
	d.must(toError, qpNumber, nil)
	d.post(0, 8)
	if e := d.completion(0); e[27] != byte(transport.Flushed) {
		t.Errorf("the last send: % x", e)
	}
	events := 0
	for i := range uint64(32) {
		if e := d.get(pageEQ+i*entrySize, entrySize); e[31]&0x80 == 0 && e[1] == eventLastRequest {
			events++
		}
	}
	if events != 1 {
		t.Errorf("told %d times", events)
	}
}

// FuzzCommands holds that a hostile machine does the card no harm.
func FuzzCommands(f *testing.F) {
	for op := range handlers {
		f.Add(op, uint32(0), uint32(1), []byte{1, 2, 3})
	}
	f.Add(uint32(mapICM), uint32(0), uint32(1), append(make([]byte, 15), 0x3f))
	f.Add(uint32(setCQ), uint32(0), uint32(1), bytes.Repeat([]byte{0xff}, 64))
	f.Fuzz(func(t *testing.T, op, opMod, mod uint32, in []byte) {
		d := newDriver(t, &wire.World{}, card.VPI(), 0)
		d.open(datagram)
		if len(in) > 4096 {
			in = in[:4096]
		}
		d.command(op&0xfff, opMod&0xf, mod, in)
		for _, off := range []uint64{0x14, 0x20, 0x808} {
			d.WriteRegion(vfiouser.BAR2, off, append(in, make([]byte, 8)...)[:8])
			d.WriteRegion(vfiouser.BAR2, off, append(in, make([]byte, 8)...)[:4])
		}
		d.bus.Interrupt(0)
		d.world.Do(func() { d.bus.Unmap() })
	})
}
