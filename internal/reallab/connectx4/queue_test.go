//go:build linux

package connectx4

import (
	"bytes"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/transport"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// ring is a queue pair, or a pair of raw queues, in the machine's memory.
type ring struct {
	*driver
	queues
	number            uint32
	receiveAt, sendAt uint64 // where its requests are
	record            uint64
	stride            uint64 // of receive requests
	data              uint64 // a page for messages
	sends, receives   uint32
}

const (
	logReceives, logSends = 2, 3
	receiveStride         = 1 << 5
)

// pair makes a queue pair of a service, and brings it to where it sends.
func (d *driver) pair(q queues, service byte, remote uint32, lid uint16) *ring {
	d.Helper()
	page := d.page()
	r := &ring{driver: d, queues: q, receiveAt: page, sendAt: page + receiveStride<<logReceives, record: d.page(),
		stride: receiveStride, data: d.page()}
	context := func(in []byte) []byte {
		c := in[qpContextAt:]
		c[ctxService], c[ctxReceive], c[ctxSend] = service, logReceives<<3|1, logSends<<3
		be.PutUint32(c[ctxSendCQ:], uint32(q.cq))
		be.PutUint32(c[ctxReceiveCQ:], uint32(q.cq))
		be.PutUint64(c[ctxRecord:], r.record)
		be.PutUint32(c[ctxQKey:], 0x1234)
		if d.poolOfTests != 0 {
			be.PutUint32(c[ctxSRQ:], 1<<24|d.poolOfTests)
		}
		return c
	}
	r.number = d.made(opCreateQP, input([]uint64{page}, func(in []byte) { context(in) }))
	for _, op := range []uint16{opResetToInit, opInitToRTR, opRTRToRTS} {
		d.must(op, 0, input(nil, func(in []byte) {
			be.PutUint32(in[8:], r.number)
			c := context(in)
			c[ctxMTU] = 1 << 5
			be.PutUint32(c[ctxRemote:], remote)
			be.PutUint16(c[ctxPath+6:], lid)
			c[ctxRetries], c[ctxNotReady] = 7, 7<<5
		}), 16)
	}
	return r
}

// send posts a send request with data in it or in memory, and rings the doorbell.
func (r *ring) send(op byte, head []byte, size uint32) {
	r.Helper()
	w := make([]byte, pieceBytes, 4*blockBytes)
	w[wqeOpcode], w[wqeFlags] = op, flagCompleted
	w = append(w, head...)
	w = be.AppendUint32(w, size)
	w = be.AppendUint32(w, reservedKey)
	w = be.AppendUint64(w, r.data)
	w[wqePieces] = byte(len(w) / pieceBytes)
	for len(w)%blockBytes != 0 {
		w = append(w, 0)
	}
	for i := uint32(0); int(i)*blockBytes < len(w); i++ {
		r.put(r.sendAt+uint64((r.sends+i)%(1<<logSends))*blockBytes, w[i*blockBytes:(i+1)*blockBytes])
	}
	r.sends += uint32(len(w) / blockBytes)
	r.put32(r.record+recordSend, r.sends)
	r.WriteRegion(vfiouser.BAR0, firstUAR*pageSize+bellSend, append(make([]byte, 4), be.AppendUint32(nil, r.number<<8|1)...))
}

// offer posts a receive request.
func (r *ring) offer(size uint32) {
	at := r.receiveAt + uint64(r.receives%(1<<logReceives))*r.stride
	r.put32(at, size)
	r.put32(at+4, reservedKey)
	r.put(at+8, be.AppendUint64(nil, r.data))
	r.put32(at+pieceBytes+4, invalidKey)
	r.receives++
	r.put32(r.record, r.receives)
}

// twoCards are two machines whose cards are cabled to each other, and active.
func twoCards(t testing.TB) (a, b *driver, qa, qb queues) {
	w := &wire.World{}
	a, b = newDriver(t, w, newModel(t, image(oldVersion), 0, card.NV{})), newDriver(t, w, newModel(t, image(oldVersion), 1, card.NV{}))
	wire.Connect(a.Port(1), b.Port(1))
	qa, qb = a.open(), b.open()
	a.activate(1)
	b.activate(2)
	return a, b, qa, qb
}

// A message of several packets goes over a connection, and both sides are told. One that
// is too long for its receiver ends the connection.
func TestConnection_send(t *testing.T) {
	first, second, qa, qb := twoCards(t)
	a, b := first.pair(qa, 0, 0x48, 2), second.pair(qb, 0, 0x48, 1)
	text := bytes.Repeat([]byte("over the wire "), 60) // four packets of 256 bytes
	a.put(a.data, text)
	b.offer(2048)
	a.send(opSend, nil, uint32(len(text)))
	if e := b.completion(qb, 0); e[63]>>4 != cqeReceived || be.Uint32(e[cqeBytes:]) != uint32(len(text)) {
		t.Errorf("received: % x", e)
	}
	if e := a.completion(qa, 0); e[63]>>4 != cqeSent || number(e, cqeNumber) != a.number || e[cqeNumber] != opSend {
		t.Errorf("sent: % x", e)
	}
	if got := b.get(b.data, len(text)); !bytes.Equal(got, text) {
		t.Errorf("got %q", got)
	}
	b.offer(16)
	a.send(opSend, nil, 100)
	if e := a.completion(qa, 1); e[63]>>4 != cqeSendError || e[cqeSyndrome] != byte(transport.RemoteInvalid) {
		t.Errorf("a message that is too long: % x", e)
	}
	a.send(opSend, nil, 8)
	if e := a.completion(qa, 2); e[63]>>4 != cqeSendError || e[cqeSyndrome] != byte(transport.Flushed) {
		t.Errorf("after the error: % x", e)
	}
}

// A partner writes to memory that a key lets it write to, and reads from it.
func TestConnection_remote_memory(t *testing.T) {
	first, second, qa, qb := twoCards(t)
	a, b := first.pair(qa, 0, 0x48, 2), second.pair(qb, 0, 0x48, 1)
	page := second.page()
	key := second.key(keyLocalRead|keyLocalWrite|keyRemoteRead|keyRemoteWrite, page)
	target := append(be.AppendUint64(nil, keyBegin+8), be.AppendUint32(nil, key)...)
	target = append(target, 0, 0, 0, 0)
	a.put(a.data, []byte("written from far"))
	a.send(opWrite, target, 16)
	a.completion(qa, 0)
	if got := b.get(page+8, 16); string(got) != "written from far" {
		t.Errorf("memory holds %q", got)
	}
	b.put(page+8, []byte("what is read now"))
	a.send(opRead, target, 16)
	if e := a.completion(qa, 1); e[63]>>4 != cqeSent || be.Uint32(e[cqeBytes:]) != 16 {
		t.Errorf("read: % x", e)
	}
	if got := a.get(a.data, 16); string(got) != "what is read now" {
		t.Errorf("read %q", got)
	}
	be.PutUint32(target[8:], second.key(keyLocalRead|keyLocalWrite, page))
	a.send(opWrite, target, 16)
	if e := a.completion(qa, 2); e[63]>>4 != cqeSendError || e[cqeSyndrome] != byte(transport.RemoteAccess) {
		t.Errorf("without the right: % x", e)
	}
}

// vector is an address vector: to a queue pair at a LID.
func addressOf(qkey, dest uint32, lid uint16, gid []byte) []byte {
	a := make([]byte, vectorEnd-vectorAt)
	be.PutUint32(a[vectorQKey:], qkey)
	be.PutUint32(a[vectorDest:], 1<<31|dest)
	be.PutUint16(a[14:], lid)
	if gid != nil {
		a[28] = 1 << 6
		copy(a[32:], gid)
	}
	return a
}

// A datagram arrives with its source behind 40 bytes for a global header, if the Q_Key is
// right; one to a group arrives at its members.
func TestDatagram_send(t *testing.T) {
	first, second, qa, qb := twoCards(t)
	a, b := first.pair(qa, 2, 0, 0), second.pair(qb, 2, 0, 0)
	b.offer(2048)
	a.put(a.data, []byte("a datagram"))
	a.send(opSend, addressOf(0x9999, b.number, 2, nil), 10)
	a.send(opSend, addressOf(0x1234, b.number, 2, nil), 10)
	e := b.completion(qb, 0)
	if e[63]>>4 != cqeReceived || be.Uint32(e[cqeBytes:]) != 50 || number(e, cqeSource) != a.number ||
		be.Uint16(e[cqeSLID:]) != 1 {
		t.Errorf("received: % x", e)
	}
	if got := b.get(b.data+40, 10); string(got) != "a datagram" {
		t.Errorf("got %q", got)
	}
	gid := append([]byte{0xff, 0x12}, make([]byte, 14)...)
	second.must(opAttach, 0, append(append(be.AppendUint32(nil, b.number), 0, 0, 0, 0), gid...), 16)
	b.offer(2048)
	a.send(opSend, addressOf(0x1234, 0xffffff, wire.FirstMulticast, gid), 10)
	if e := b.completion(qb, 1); be.Uint32(e[cqeSource:])>>28 != 1 {
		t.Errorf("to a group: % x", e)
	}
	if got := b.get(b.data+24, 16); !bytes.Equal(got, gid) {
		t.Errorf("global header to % x", got)
	}
}

// What is in the queues comes back flushed when the queue pair goes into the error state,
// and so does what is posted then, although no doorbell tells of it.
func TestQueuePair_flush(t *testing.T) {
	d, _, q, _ := twoCards(t)
	r := d.pair(q, 0, 0x48, 2)
	r.offer(64)
	d.must(opToError, 0, append(be.AppendUint32(nil, r.number), 0, 0, 0, 0), 16)
	if e := d.completion(q, 0); e[63]>>4 != cqeRecvError || e[cqeSyndrome] != byte(transport.Flushed) {
		t.Errorf("receive request: % x", e)
	}
	r.offer(64)
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(flushPause) {
		var e []byte
		d.world.Do(func() { e = d.get(q.cqPage+entryBytes, entryBytes) })
		if e[63]>>4 == cqeRecvError && e[cqeSyndrome] == byte(transport.Flushed) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("one that was posted later: % x", e)
		}
	}
}

// Queue pair 0 is reached, and sends, before there is a LID.
func TestManagement_without_LID(t *testing.T) {
	w := &wire.World{}
	first, second := newDriver(t, w, newModel(t, image(oldVersion), 0, card.NV{})), newDriver(t, w, newModel(t, image(oldVersion), 1, card.NV{}))
	wire.Connect(first.Port(1), second.Port(1))
	qa, qb := first.open(), second.open()
	a, b := first.pair(qa, 7, 0, 0), second.pair(qb, 7, 0, 0)
	b.offer(512)
	a.put(a.data, []byte("management"))
	a.send(opSend, addressOf(0, 0, wire.Permissive, nil), 10)
	e := b.completion(qb, 0)
	if number(e, cqeSource) != 0 || be.Uint16(e[cqeSLID:]) != wire.Permissive {
		t.Errorf("received: % x", e)
	}
}

// A work request changes a memory key: its begin, its rights, and its pages.
func TestKey_changed_by_work_request(t *testing.T) {
	d, _, q, _ := twoCards(t)
	r := d.pair(q, serviceRegister, 0, 0)
	old, fresh := d.page(), d.page()
	key := d.key(keyLocalRead, old)
	w := make([]byte, umrData+4*pieceBytes)
	w[wqeOpcode], w[wqeFlags], w[wqePieces] = opChangeKey, flagCompleted, byte(len(w)/pieceBytes)
	be.PutUint32(w[wqeImmediate:], key)
	c, context := w[umrControl:], w[umrContext:]
	c[0] = umrInline
	be.PutUint16(c[4:], 1)
	be.PutUint64(c[8:], 1<<6|1<<18)
	context[keyRights] = keyLocalWrite
	be.PutUint64(context[keyStart:], 0x5000)
	be.PutUint64(w[umrData:], fresh)
	for i := range len(w) / blockBytes {
		r.put(r.sendAt+uint64(i)*blockBytes, w[i*blockBytes:(i+1)*blockBytes])
	}
	r.put32(r.record+recordSend, uint32(len(w)/blockBytes))
	r.WriteRegion(vfiouser.BAR0, firstUAR*pageSize+bellSend, append(make([]byte, 4), be.AppendUint32(nil, r.number<<8)...))
	if e := d.completion(q, 0); e[63]>>4 != cqeSent || e[cqeNumber] != opChangeKey {
		t.Errorf("completion: % x", e)
	}
	d.world.Do(func() {
		if !d.hca.Copy(key, 0x5000, []byte("fresh"), transport.LocalWrite) {
			t.Error("the key does not lead to its new page")
		}
		if d.hca.Copy(key, keyBegin, make([]byte, 1), transport.LocalRead) {
			t.Error("the key begins where it did")
		}
	})
	if got := d.get(fresh, 5); string(got) != "fresh" {
		t.Errorf("the new page holds %q", got)
	}
}

// Queue pairs with a shared receive queue take its requests in the order of its list, and
// their completions name it: programs find it by its number.
func TestConnection_shared_receive_queue(t *testing.T) {
	first, second, qa, qb := twoCards(t)
	page, record := second.page(), second.page()
	pool := second.made(opCreateRMP, input([]uint64{page}, func(in []byte) {
		c := in[rawAt:]
		c[wqStride], c[wqSize] = 5, 2
		be.PutUint64(c[wqRecord:], record)
	}))
	data := second.page()
	for i, next := range []uint16{2, 0, 1} { // 0, 2, 1
		at := page + uint64(i)<<5
		second.put(at+2, be.AppendUint16(nil, next))
		second.put32(at+pieceBytes, 64)
		second.put32(at+pieceBytes+4, reservedKey)
		second.put(at+pieceBytes+8, be.AppendUint64(nil, data+uint64(i)*64))
	}
	second.put32(record, 3)
	second.poolOfTests = pool
	a, b := first.pair(qa, 0, 0x48, 2), second.pair(qb, 0, 0x48, 1)
	for i, want := range []uint16{0, 2, 1} {
		a.put(a.data, []byte{'a' + byte(i)})
		a.send(opSend, nil, 1)
		e := b.completion(qb, uint64(i))
		if e[63]>>4 != cqeReceived || number(e, cqeShared) != pool || be.Uint16(e[cqeIndex:]) != want {
			t.Errorf("message %d: % x", i, e)
		}
		if got := b.get(data+uint64(want)*64, 1); got[0] != 'a'+byte(i) {
			t.Errorf("message %d: %q", i, got)
		}
	}
	second.must(opToError, 0, append(be.AppendUint32(nil, b.number), 0, 0, 0, 0), 16)
	last := 0
	for i := range uint64(1) << queueLogOfTests {
		if e := second.get(qb.eqPage+i*entryBytes, entryBytes); e[63]&1 == 0 && e[1] == eventLastRequest {
			last++
		}
	}
	if last != 1 {
		t.Errorf("told %d times that it took its last request", last)
	}
}
