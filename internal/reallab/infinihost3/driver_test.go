//go:build linux

package infinihost3

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/registers"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/hcr"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// PCI devices of the forms.
const arbel, tavor, sinai = 0x6282, 0x6278, 0x6274

// forms runs a test on each form of the chip.
func forms(t *testing.T, test func(*testing.T, uint16)) {
	for _, device := range []uint16{arbel, tavor, sinai} {
		t.Run(fmt.Sprintf("%x", device), func(t *testing.T) { test(t, device) })
	}
}

// driver is a machine with a card: it does what the kernel's driver does.
type driver struct {
	testing.TB
	*Card
	world *wire.World
	peer  uint16 // LID that connections go to
}

const (
	guestSize = 4 << 20
	nodeGUID  = 0x0002c90200298e00
	psid      = "MT_9230000001"
)

func newDriver(t testing.TB, w *wire.World, device uint16, i uint64) *driver {
	t.Helper()
	guid := nodeGUID + i*8
	model, err := card.New(card.Config{Chip: card.Chip{PCIDevice: device}, Fixed: &card.Firmware{Loaded: true,
		Version: [3]uint16{5, 3, 1}, PSID: psid, VPI: true, GUIDs: [4]uint64{guid, guid + 1, guid + 2, guid + 3}}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := New(w, Config{Name: "card", Model: model, Board: registers.Board{SerialNumber: "MT1234X00001"}})
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("guest", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Ftruncate(fd, guestSize); err != nil {
		t.Fatal(err)
	}
	if err := k.bus.Map(0, guestSize, 0, fd); err != nil {
		t.Fatal(err)
	}
	return &driver{t, k, w, 0}
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

// words puts words of four bytes into memory.
func (d *driver) words(addr uint64, all ...uint32) {
	d.Helper()
	var b []byte
	for _, v := range all {
		b = be.AppendUint32(b, v)
	}
	d.put(addr, b)
}

// Places in the machine's memory.
const (
	inBox, outBox                    = 0x1000, 0x2000
	pageEQ, pageCQ, pageQP, pageData = 0x10000, 0x11000, 0x12000, 0x13000
	pageOther                        = 0x14000
	pageTable, pageRecords           = 0x20000, 0x21000
)

// command writes the command register and gives the status.
func (d *driver) command(op, modifier, index uint32, in []byte) byte {
	d.Helper()
	d.put(inBox, in)
	var b []byte
	for _, v := range []uint32{0, inBox, index, 0, outBox, 0, op | modifier<<12 | 1<<23} {
		b = be.AppendUint32(b, v)
	}
	d.WriteRegion(vfiouser.BAR0, hcr.Base, b)
	out := make([]byte, 4)
	d.ReadRegion(vfiouser.BAR0, hcr.Base+24, out)
	return out[0]
}

func (d *driver) must(op, index uint32, in []byte) []byte {
	d.Helper()
	if s := d.command(op, 0, index, in); s != hcr.OK {
		d.Fatalf("command %#x: status %#x", op, s)
	}
	return d.get(outBox, 512)
}

// bell rings a doorbell.
func (d *driver) bell(at uint64, high, low uint32) {
	d.WriteRegion(vfiouser.BAR2, at, be.AppendUint32(be.AppendUint32(nil, high), low))
}

// Memory keys, by index: each names a page, the last all memory by its address.
const indexEQ, indexCQ, indexQP, indexOther, indexAll = 1, 2, 3, 4, 5

// key is the key of an index.
func (d *driver) key(index uint32) uint32 {
	if d.ownMemory {
		return index
	}
	return index << 8
}

// allRights let the card and its partners read and write.
const allRights = 0xf << 10

// memory gives the card its tables and its keys.
func (d *driver) memory() {
	d.Helper()
	if !d.ownMemory {
		var pages []byte
		for i, p := range []uint64{pageTable, pageRecords} {
			pages = be.AppendUint64(be.AppendUint64(pages, uint64(i)<<12), p)
		}
		d.must(mapICM, 2, pages)
	}
	layout := make([]byte, initSize)
	layout[0xfb] = 10
	be.PutUint16(layout[0xd6:], 8)
	be.PutUint64(layout[0x138:], 0x1000)
	d.must(initHCA, 0, layout)
	table := make([]byte, 16)
	for _, p := range []uint64{pageEQ, pageCQ, pageQP, pageOther} {
		table = be.AppendUint64(table, p|1)
	}
	d.must(writeMTT, 4, table)
	for i := range uint32(5) {
		m := make([]byte, 64)
		be.PutUint32(m, allRights)
		if i+1 == indexAll {
			be.PutUint32(m, allRights|physical)
		}
		be.PutUint32(m[8:], i+1)
		be.PutUint64(m[24:], 4096)
		be.PutUint64(m[44:], uint64(i)*8)
		d.must(setMPT, i+1, m)
	}
}

// Queues: an event queue and a completion queue of 32 entries, and a queue pair of four
// receive requests of 64 bytes and four send requests of 128.
const (
	eqNumber, cqNumber, qpNumber = 1, 7, 0x40
	receiveSize64, sendSize128   = 64, 128
	sendStart                    = 4 * receiveSize64
	recordIndex                  = 2
)

// context is that of a queue pair, behind the mask of a transition.
func (d *driver) context(service byte) []byte {
	c := make([]byte, 8+contextSize)
	q := c[8:]
	q[ctxService] = service
	q[ctxReceive], q[ctxSend] = 2<<3|2, 2<<3|3
	q[ctxMTU] = 1 << 5
	q[ctxPath+pathPort] = 1
	q[ctxPath+pathRetry] = 7 << 5
	be.PutUint16(q[ctxPath+6:], d.peer)
	be.PutUint32(q[ctxRemote:], qpNumber)
	be.PutUint32(q[ctxKey:], d.key(indexQP))
	be.PutUint32(q[ctxParams:], 7<<16)
	be.PutUint32(q[ctxSendCQ:], cqNumber)
	be.PutUint32(q[ctxReceiveCQ:], cqNumber)
	be.PutUint32(q[ctxSendStart:], sendStart)
	be.PutUint32(q[ctxRecord:], recordIndex)
	be.PutUint32(q[ctxQKey:], 0x1234)
	return c
}

// open brings the card up with a queue pair of a service.
func (d *driver) open(service byte) {
	d.Helper()
	d.memory()
	event := make([]byte, 64)
	event[12], event[23] = 5, firstVector
	be.PutUint32(event[28:], d.key(indexEQ))
	d.must(setEQ, eqNumber, event)
	completion := make([]byte, 64)
	completion[12], completion[23] = 5, eqNumber
	be.PutUint32(completion[28:], d.key(indexCQ))
	d.must(setCQ, cqNumber, completion)
	d.disown(pageEQ)
	d.disown(pageCQ)
	d.must(initPort, 1, nil)
	c := d.context(service)
	d.must(resetToInit, qpNumber, c)
	d.must(initToRTR, qpNumber, c)
	d.must(rtrToRTS, qpNumber, c)
}

// disown marks all entries of a queue as the card's, as the driver does.
func (d *driver) disown(page uint64) {
	for i := range uint64(32) {
		d.put(page+i*entrySize+31, []byte{0x80})
	}
}

// write writes a send request with data of a length, and the segments before that.
func (d *driver) write(index uint64, length uint32, segments ...uint32) (size uint32) {
	at := pageQP + sendStart + index*sendSize128
	all := append([]uint32{0, 0, flagCompleted, 0}, segments...)
	all = append(all, length, d.key(indexAll), 0, pageData)
	d.words(at, all...)
	return uint32(len(all) / 4)
}

// link makes a send request tell of the next one.
func (d *driver) link(index, next uint64, operation, size uint32, ownBell bool) {
	if ownBell {
		size |= ownDoorbell
	}
	d.words(pageQP+sendStart+index*sendSize128, uint32(sendStart+next*sendSize128)|operation, size)
}

// ring tells of send requests.
func (d *driver) ring(index, operation, size, count uint32) {
	if d.ownMemory {
		d.bell(bellSend, sendStart+index*sendSize128|operation, qpNumber<<8|size)
		return
	}
	d.bell(bellSend, count<<24|index<<8|operation, qpNumber<<8|size)
}

func (d *driver) post(index uint64, length uint32) {
	d.ring(uint32(index), opSend, d.write(index, length), 1)
}

// offer posts a receive request.
func (d *driver) offer(index uint64, length uint32) {
	d.words(pageQP+index*receiveSize64, 0, 0, 0, 0, length, d.key(indexAll), 0, pageData, 0, endKey, 0, 0)
	if d.ownMemory {
		d.bell(bellReceive, uint32(index)*receiveSize64|3, qpNumber<<8|1)
		return
	}
	d.words(pageRecords+recordIndex*8, uint32(index)+1)
}

// completion is the n-th, which must be there.
func (d *driver) completion(n uint64) []byte {
	d.Helper()
	e := d.get(pageCQ+n*entrySize, entrySize)
	if e[31]&0x80 != 0 {
		d.Fatalf("completion %d is not there", n)
	}
	return e
}

// completions is how many there are.
func (d *driver) completions() (n int) {
	for d.get(pageCQ+uint64(n)*entrySize, entrySize)[31]&0x80 == 0 {
		n++
	}
	return n
}

// events counts events of a type.
func (d *driver) events(kind byte) (n int) {
	for i := range uint64(32) {
		if e := d.get(pageEQ+i*entrySize, entrySize); e[31]&0x80 == 0 && e[1] == kind {
			n++
		}
	}
	return n
}
