//go:build linux

package connectx4

import (
	"bytes"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

const baseGUID = 0xec0d9a030076eae0

// driver is a machine with a card: it does what the kernel's driver does.
type driver struct {
	testing.TB
	*Function
	world       *wire.World
	pages       uint64 // that are in use
	poolOfTests uint32 // the shared receive queue of new queue pairs; 0 if they have their own
}

const (
	guestSize = 4 << 20
	// Where the driver has its command queue and its mailboxes.
	commandPage, inBoxes, outBoxes = 0x1000, 0x10000, 0x20000
	firstPage                      = 0x40
)

func newModel(t testing.TB, image []byte, i uint64, nv card.NV) *card.Card {
	t.Helper()
	guid := baseGUID + i*0x10
	model, err := card.New(card.Config{Chip: card.ConnectX4, Image: image, GUIDs: [4]uint64{guid},
		MACs: [2]uint64{0xec0d9a76eae0 + i*0x10}})
	if err != nil {
		t.Fatal(err)
	}
	model.SetNV(nv)
	return model
}

// image is firmware of a version. Building it takes longer than a test of it.
func image(version uint16) []byte {
	if version == oldVersion {
		return oldImage()
	}
	return card.CX4(card.PSIDCX4, [3]uint16{12, 28, version})
}

const oldVersion = 2006

var oldImage = sync.OnceValue(func() []byte { return card.CX4(card.PSIDCX4, [3]uint16{12, 28, oldVersion}) })

func newDriver(t testing.TB, w *wire.World, model *card.Card) *driver {
	t.Helper()
	return drive(t, w, New(w, Config{Name: "card", Model: model, Board: registers.Board{SerialNumber: "MT1712X00001"}}).functions[0])
}

// drive puts a function into a machine.
func drive(t testing.TB, w *wire.World, f *Function) *driver {
	t.Helper()
	d := &driver{TB: t, Function: f, world: w, pages: firstPage}
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
	t.Cleanup(func() { w.Do(d.bus.Unmap) })
	d.register(regQueueHigh, 0)
	d.register(regQueueLow, commandPage)
	return d
}

func (d *driver) register(addr uint64, v uint32) {
	d.WriteRegion(vfiouser.BAR0, addr, be.AppendUint32(nil, v))
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

// page takes a page of memory.
func (d *driver) page() uint64 {
	d.pages++
	return d.pages * pageSize
}

// command runs a command of a modifier, with an input behind its first word of eight bytes,
// and gives its whole output.
func (d *driver) command(op, opMod uint16, in []byte, size int) []byte {
	d.Helper()
	whole := be.AppendUint16(be.AppendUint64(be.AppendUint16(nil, op), 0)[:6], opMod)
	whole = append(whole, in...)
	d.raw(whole, uint32(len(whole)), uint32(size))
	out := append(d.get(commandPage+0x20, inlineBytes), make([]byte, max(0, size-inlineBytes))...)
	for at, n := uint64(outBoxes), inlineBytes; n < size; at, n = at+0x400, n+boxBytes {
		copy(out[n:], d.get(at, boxBytes))
	}
	return out[:size]
}

// raw writes an entry of the command queue, and rings its doorbell.
func (d *driver) raw(in []byte, inLength, outLength uint32) {
	entry := make([]byte, entryBytes)
	be.PutUint32(entry[4:], inLength)
	n := copy(entry[0x10:0x20], in)
	be.PutUint64(entry[8:], inBoxes)
	be.PutUint64(entry[0x30:], outBoxes)
	be.PutUint32(entry[0x38:], outLength)
	entry[0x3f] = 1
	const boxes = 40
	for i := range uint64(boxes) {
		box := make([]byte, boxNext+8)
		if n < len(in) {
			n += copy(box[:boxBytes], in[n:])
		}
		if i < boxes-1 {
			be.PutUint64(box[boxNext:], inBoxes+(i+1)*0x400)
		}
		d.put(inBoxes+i*0x400, box)
		if i < boxes-1 {
			be.PutUint64(box[boxNext:], outBoxes+(i+1)*0x400)
		}
		clear(box[:boxBytes])
		d.put(outBoxes+i*0x400, box)
	}
	d.put(commandPage, entry)
	d.register(regDoorbell, 1)
	if d.get(commandPage+0x3f, 1)[0] != 0 && inLength <= maxLength && outLength <= maxLength {
		d.Fatal("the entry still belongs to the card")
	}
}

// must runs a command that succeeds.
func (d *driver) must(op, opMod uint16, in []byte, size int) []byte {
	d.Helper()
	out := d.command(op, opMod, in, size)
	if out[0] != ok {
		d.Fatalf("command %#x: status %#x", op, out[0])
	}
	return out
}

// made is the number of an object that a command makes.
func (d *driver) made(op uint16, in []byte) uint32 {
	d.Helper()
	return number(d.must(op, 0, in, 16), 8)
}

// input is that of a command with a context and a list of pages. Offsets count from the
// begin of the whole command.
func input(list []uint64, fill func(in []byte)) []byte {
	in := make([]byte, listAt, listAt+8*len(list))
	fill(in)
	for _, p := range list {
		in = be.AppendUint64(in, p)
	}
	return in[8:]
}

// queues are an event queue and a completion queue in the machine's memory.
type queues struct{ eq, cq, eqPage, cqPage uint64 }

const queueLogOfTests = 5

// open brings the card up as far as its link.
func (d *driver) open() queues {
	d.Helper()
	d.must(opEnable, 0, make([]byte, 8), 16)
	d.must(opInit, 0, make([]byte, 8), 16)
	q := queues{eqPage: d.page(), cqPage: d.page()}
	for i := range uint64(1) << queueLogOfTests {
		d.put(q.eqPage+i*entryBytes+63, []byte{1})
		d.put(q.cqPage+i*entryBytes+63, []byte{0xf1})
	}
	q.eq = uint64(d.made(opCreateEQ, input([]uint64{q.eqPage}, func(in []byte) {
		in[contextAt+queueLog] = queueLogOfTests
		be.PutUint64(in[eqTypes:], 1<<eventPort|1<<eventLastRequest)
	})))
	q.cq = uint64(d.made(opCreateCQ, input([]uint64{q.cqPage}, func(in []byte) {
		in[contextAt+queueLog] = queueLogOfTests
		be.PutUint32(in[contextAt+cqEvents:], uint32(q.eq))
	})))
	return q
}

// completion is the n-th, which must be there.
func (d *driver) completion(q queues, n uint64) []byte {
	d.Helper()
	e := d.get(q.cqPage+n*entryBytes, entryBytes)
	if e[63]>>4 == 0xf {
		d.Fatalf("completion %d is not there", n)
	}
	return e
}

// activate has the subnet manager's datagrams make the port active.
func (d *driver) activate(lid uint16) {
	d.Helper()
	info := d.smp(1, 0x15, nil)
	be.PutUint16(info[infoLID:], lid)
	be.PutUint16(info[infoMaster:], 1)
	info[infoPhysical] = 0
	for _, state := range []byte{3, 4} {
		info[infoState] = info[infoState]&0xf0 | state
		d.smp(2, 0x15, info)
	}
}

// smp has the firmware answer a datagram of subnet management, and gives its data.
func (d *driver) smp(method byte, attribute uint16, data []byte) []byte {
	d.Helper()
	in := make([]byte, 8+256)
	in[3] = 1 // the port
	m := in[8:]
	m[0], m[1], m[2], m[3] = 1, 1, 1, method
	be.PutUint16(m[16:], attribute)
	copy(m[64:128], data)
	return d.must(opMAD, 1, in, madAt+256)[madAt+64 : madAt+128]
}

// The card is what it has booted: firmware that is burned, and a link type that is stored,
// count from the next reset on.
func TestCard_boots_what_is_in_flash(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	version := func() [2]uint32 {
		b := make([]byte, 8)
		d.ReadRegion(vfiouser.BAR0, regFirmware, b)
		return [2]uint32{be.Uint32(b), be.Uint32(b[4:])}
	}
	class := func() uint32 {
		b := make([]byte, 4)
		d.ReadRegion(vfiouser.Config, 8, b)
		return le.Uint32(b) >> 8
	}
	kind := func() uint64 { return capPortType.get(d.must(opQueryCap, 1, make([]byte, 8), 0x1010)[0x10:]) }
	if v := version(); v != [2]uint32{28<<16 | 12, commandRevision<<16 | 2006} {
		t.Errorf("version %x", v)
	}
	if class() != 0x020700 || kind() != 0 {
		t.Errorf("class %#x, port type %d", class(), kind())
	}
	out := d.must(opQueryAdapter, 0, make([]byte, 8), 0x110)
	if got := string(bytes.TrimRight(out[0x100:0x110], "\x00")); got != card.PSIDCX4 {
		t.Errorf("PSID %q", got)
	}
	d.Model.Flash = newModel(t, image(4706), 0, card.NV{}).Flash
	d.Model.SetNV(card.NV{LinkType: [2]int{card.LinkETH}})
	if v := version(); v[1]&0xffff != 2006 || kind() != 0 {
		t.Errorf("before a reset: version %x, port type %d", v, kind())
	}
	d.Reset()
	d.register(regQueueLow, commandPage)
	if v := version(); v[1]&0xffff != 4706 || kind() != 1 || class() != 0x020000 {
		t.Errorf("after a reset: version %x, port type %d, class %#x", v, kind(), class())
	}
}

// A command longer than an entry goes through mailboxes; one that is unknown fails.
func TestCommand_lengths(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	if out := d.command(0xfff, 0, make([]byte, 8), 16); out[0] != badOpcode {
		t.Errorf("unknown command: status %#x", out[0])
	}
	in := make([]byte, 8)
	be.PutUint32(in[4:], 100)
	for i := range uint64(100) {
		in = be.AppendUint64(in, 0x100000+i*pageSize)
	}
	d.must(opManagePages, 1, in, 16)
	be.PutUint32(in[4:], 150)
	out := d.must(opManagePages, 2, in[:8], 16+8*150)
	if n := be.Uint32(out[8:]); n != 100 || be.Uint64(out[16+8*99:]) != 0x100000+99*pageSize {
		t.Errorf("%d pages back, the last at %#x", n, be.Uint64(out[16+8*99:]))
	}
}

// Capabilities that a driver sets are those that it reads then.
func TestCapabilities_set(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	caps := d.must(opQueryCap, 1, make([]byte, 8), 0x1010)[0x10:]
	field{0x9b, 5}.put(caps, 12)
	capEnhanced.put(caps, 0)
	d.must(opSetCap, 0, append(make([]byte, 8), caps...), 16)
	caps = d.must(opQueryCap, 1, make([]byte, 8), 0x1010)[0x10:]
	if got := (field{0x9b, 5}).get(caps); got != 12 {
		t.Errorf("log_max_qp %d", got)
	}
	if capEnhanced.get(caps) != 1 {
		t.Error("a driver takes the accelerated IPoIB away")
	}
}

// Shared receive queues of both kinds have numbers of one space: the driver keeps them in
// one table, and lost one of two with the same number.
func TestObjects_shared_receive_queues(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	pool := d.made(opCreateRMP, input([]uint64{d.page()}, func(in []byte) { in[rawAt+wqStride] = 5 }))
	if xrc := d.made(opCreateXRCSRQ, input([]uint64{d.page()}, func([]byte) {})); xrc == pool {
		t.Errorf("both have the number %#x", xrc)
	}
	d.must(opDestroyRMP, 0, append(be.AppendUint32(nil, pool), 0, 0, 0, 0), 16)
	if out := d.command(opDestroyRMP, 0, append(be.AppendUint32(nil, pool), 0, 0, 0, 0), 16); out[0] != badResource {
		t.Errorf("destroyed twice: status %#x", out[0])
	}
}

// mlx5 learns of LID, P_Keys and the wish for registration by events alone.
func TestMAD_events(t *testing.T) {
	w := &wire.World{}
	d, other := newDriver(t, w, newModel(t, image(oldVersion), 0, card.NV{})), newDriver(t, w, newModel(t, image(oldVersion), 1, card.NV{}))
	cable := wire.Connect(d.Port(1), other.Port(1))
	q := d.open()
	other.open()
	d.activate(7)
	keys := make([]byte, 64)
	be.PutUint16(keys, 0xffff)
	be.PutUint16(keys[2:], 0x8001)
	d.smp(2, 0x16, keys)
	info := d.smp(1, 0x15, nil)
	info[infoTimeout] |= 0x80
	info[infoState] &= 0xf0
	d.smp(2, 0x15, info)
	out := d.must(opHCAVport, 0, make([]byte, 8), 0x210)[vportAt:]
	if be.Uint16(out[vportLID:]) != 7 || out[vportStates]>>4 != 4 || be.Uint64(out[vportNode:]) != baseGUID {
		t.Errorf("port: % x", out[:0x70])
	}
	cable.Pull()
	var got []byte
	for i := range uint64(1) << queueLogOfTests {
		if e := d.get(q.eqPage+i*entryBytes, entryBytes); e[63]&1 == 0 && e[1] == eventPort {
			got = append(got, e[3])
		}
	}
	if want := []byte{portLID, portActive, portPKeys, portReregister, portDown}; !bytes.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if out = d.must(opHCAVport, 0, make([]byte, 8), 0x210)[vportAt:]; out[vportStates]>>4 != 1 {
		t.Errorf("without its cable the port is in state %d", out[vportStates]>>4)
	}
}

// Registers tell what the link agreed on, and how the node is called.
func TestPort_registers(t *testing.T) {
	w := &wire.World{}
	d, other := newDriver(t, w, newModel(t, image(oldVersion), 0, card.NV{})), newDriver(t, w, newModel(t, image(oldVersion), 1, card.NV{}))
	wire.Connect(d.Port(1), other.Port(1))
	d.open()
	other.open()
	read := func(id uint16) []byte {
		in := make([]byte, 8+portRegisterBytes)
		be.PutUint16(in[2:], id)
		return d.must(opRegister, registerRead, in, registerAt+portRegisterBytes)[registerAt:]
	}
	if r := read(regPTYS); be.Uint16(r[0x28:]) != 1<<2 || be.Uint16(r[0x2a:]) != 1<<5 {
		t.Errorf("4X EDR: width %#x, speed %#x", be.Uint16(r[0x28:]), be.Uint16(r[0x2a:]))
	}
	in := make([]byte, 8+descriptionBytes)
	be.PutUint16(in[2:], regDescription)
	copy(in[8:], "host HCA-1")
	d.must(opRegister, 0, in, registerAt+descriptionBytes)
	if got := string(bytes.TrimRight(d.smp(1, 0x10, nil), "\x00")); got != "host HCA-1" {
		t.Errorf("the node calls itself %q", got)
	}
}

// key makes a memory key of pages, and gives it with the address of its begin.
func (d *driver) key(rights byte, list ...uint64) uint32 {
	d.Helper()
	index := d.made(opCreateMkey, input(append(list, make([]uint64, len(list)%2)...), func(in []byte) {
		c := in[contextAt:]
		c[keyRights], c[keyVariant], c[keyPage] = rights|modeTable, 0x5a, 12
		be.PutUint64(c[keyStart:], keyBegin)
		be.PutUint64(c[keyLength:], uint64(len(list))*pageSize)
		be.PutUint32(in[keyTranslations:], uint32(len(list)+1)/2)
	}))
	return index<<8 | 0x5a
}

// keyBegin is where the driver's memory keys begin, for themselves.
const keyBegin = 0x7000_0000_0000

// A memory key leads to its pages, within its bounds, with its rights.
func TestKey_translation(t *testing.T) {
	d := newDriver(t, &wire.World{}, newModel(t, image(oldVersion), 0, card.NV{}))
	a, b := d.page(), d.page()
	key := d.key(keyLocalRead|keyLocalWrite|keyRemoteRead, b, a)
	text := []byte("over the border of two pages")
	at := uint64(keyBegin + pageSize - 10)
	d.world.Do(func() {
		if !d.hca.Copy(key, at, text, transport.LocalWrite) {
			t.Fatal("not written")
		}
		got := make([]byte, len(text))
		for what, fails := range map[string]bool{
			"another variant":    d.hca.Copy(key^1, at, got, transport.LocalRead),
			"behind the end":     d.hca.Copy(key, keyBegin+2*pageSize-10, got, transport.LocalRead),
			"before the begin":   d.hca.Copy(key, keyBegin-1, got, transport.LocalRead),
			"without this right": d.hca.Copy(key, at, got, transport.RemoteWrite),
		} {
			if fails {
				t.Errorf("%s: the key is taken", what)
			}
		}
		if !d.hca.Copy(key, at, got, transport.RemoteRead) || !bytes.Equal(got, text) {
			t.Errorf("read %q", got)
		}
	})
	if got := append(d.get(b+pageSize-10, 10), d.get(a, len(text)-10)...); !bytes.Equal(got, text) {
		t.Errorf("memory holds %q", got)
	}
}
