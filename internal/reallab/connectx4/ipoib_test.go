//go:build linux

package connectx4

import (
	"bytes"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/vfiouser"
)

// accelerated is an interface of IPoIB on the accelerated path: a queue pair that has the
// name, raw queues that have the packets, and flow tables that lead to these.
type accelerated struct {
	*ring
	sender uint32
}

const rawStrideOfTests = 5

// accelerate makes what the driver makes when it opens an interface. The second table has
// an entry for each of two protocols; only packets of the second reach the queue.
func (d *driver) accelerate(q queues) *accelerated {
	d.Helper()
	page := d.page()
	a := &accelerated{ring: &ring{driver: d, queues: q, receiveAt: page, sendAt: d.page(), record: d.page(), data: d.page(),
		stride: 1 << rawStrideOfTests}}
	a.number = d.made(opCreateQP, input(nil, func(in []byte) {
		in[qpContextAt+ctxService], in[qpContextAt+ctxOffload] = 2, 2
	}))
	for _, op := range []uint16{opResetToInit, opInitToRTR, opRTRToRTS} {
		d.must(op, 0, input(nil, func(in []byte) {
			be.PutUint32(in[8:], a.number)
			be.PutUint32(in[qpContextAt+ctxQKey:], 0xb1b)
		}), 16)
	}
	rq := d.made(opCreateRQ, input([]uint64{page}, func(in []byte) { a.raw(in, rawStrideOfTests) }))
	d.rawState(opModifyRQ, rq)
	rqt := d.made(opCreateRQT, input([]uint64{uint64(rq) << 32}, func(in []byte) {
		be.PutUint16(in[rawAt+rqtSize:], 1)
	}))
	tir := d.made(opCreateTIR, input(nil, func(in []byte) {
		in[rawAt+tirKind] = 1 << 4
		be.PutUint32(in[rawAt+tirTable:], rqt)
	}))
	d.steerTo(a.number, tir)
	tis := d.made(opCreateTIS, input(nil, func(in []byte) { be.PutUint32(in[rawAt+tisQP:], a.number) }))
	a.sender = d.made(opCreateSQ, input([]uint64{a.sendAt}, func(in []byte) {
		a.raw(in, 6)
		be.PutUint32(in[rawAt+rawTIS:], tis)
	}))
	d.rawState(opModifySQ, a.sender)
	return a
}

// raw fills the context of a raw queue.
func (a *accelerated) raw(in []byte, stride byte) {
	c := in[rawAt:]
	be.PutUint32(c[rawCQ:], uint32(a.cq))
	c[wqKind], c[wqStride], c[wqSize] = 1<<4, stride, logSends
	be.PutUint64(c[wqRecord:], a.record)
}

// rawState makes a raw queue ready.
func (d *driver) rawState(op uint16, n uint32) {
	d.must(op, 0, input(nil, func(in []byte) {
		be.PutUint32(in[8:], n)
		in[rawAt+rawState] = rawReady << rawStateShift
	}), 16)
}

// steerTo leads packets for a queue pair through two tables: the first has no entry.
func (d *driver) steerTo(qp, tir uint32) {
	d.Helper()
	second := d.made(opCreateFlows, input(nil, func([]byte) {}))
	first := d.made(opCreateFlows, input(nil, func(in []byte) {
		in[flowMiss] = flowMissForward
		be.PutUint32(in[flowMissTable:], second)
	}))
	in := make([]byte, groupMask+comparedBytes)
	be.PutUint32(in[flowTableID:], second)
	be.PutUint32(in[groupFirst:], 4)
	in[groupMask+headProtocol] = 0xff
	group := d.made(opCreateGroup, in[8:])
	for i, protocol := range []byte{99, protocolTCP} {
		in = make([]byte, flowList+8)
		be.PutUint32(in[flowTableID:], second)
		be.PutUint32(in[flowIndex:], uint32(4+i))
		be.PutUint32(in[flowGroup:], group)
		be.PutUint32(in[flowDestinations:], 1)
		in[flowValue+headProtocol] = protocol
		be.PutUint32(in[flowList:], destinationTIR<<24|tir)
		d.must(opSetFlow, 0, in[8:], 16)
	}
	in = make([]byte, 0x40)
	be.PutUint32(in[flowTableID:], first)
	be.PutUint32(in[rootQP:], qp)
	d.must(opSetRoot, 0, in[8:], 16)
}

// transmit posts a request of the accelerated path.
func (a *accelerated) transmit(op byte, to []byte, head []byte, segment uint16, size uint32) {
	w := make([]byte, rawData, 4*blockBytes)
	w[wqeOpcode], w[wqeFlags] = op, flagCompleted
	copy(w[vectorAt:], to)
	w[rawFlags] = flagChecksumL3 | flagChecksumL4
	be.PutUint16(w[rawSegment:], segment)
	be.PutUint16(w[rawInlineSize:], uint16(len(head)))
	w = append(w[:rawInline], head...)
	for len(w)%pieceBytes != 0 || len(w) < rawData {
		w = append(w, 0)
	}
	w = be.AppendUint32(w, size)
	w = be.AppendUint32(w, reservedKey)
	w = be.AppendUint64(w, a.data)
	w[wqePieces] = byte(len(w) / pieceBytes)
	for len(w)%blockBytes != 0 {
		w = append(w, 0)
	}
	for i := uint32(0); int(i)*blockBytes < len(w); i++ {
		a.put(a.sendAt+uint64((a.sends+i)%(1<<logSends))*blockBytes, w[i*blockBytes:(i+1)*blockBytes])
	}
	a.sends += uint32(len(w) / blockBytes)
	a.put32(a.record+recordSend, a.sends)
	a.WriteRegion(vfiouser.BAR0, firstUAR*pageSize+bellSend, append(make([]byte, 4), be.AppendUint32(nil, a.sender<<8)...))
}

// tcpHead are the headers of IPoIB, IPv4 and TCP of a segment.
func tcpHead() []byte {
	h := make([]byte, encapsulation+ipv4Header+tcpHeader)
	be.PutUint16(h, typeIPv4)
	ip := h[encapsulation:]
	ip[0], ip[8], ip[ipv4Protocol] = 0x45, 64, protocolTCP
	be.PutUint16(ip[ipv4ID:], 7)
	copy(ip[ipv4Source:], []byte{192, 0, 2, 1, 192, 0, 2, 2})
	tcp := ip[ipv4Header:]
	be.PutUint32(tcp[tcpSequence:], 1000)
	tcp[12], tcp[tcpFlags] = 5<<4, tcpPush|0x10
	return h
}

// A long segment of TCP goes out as packets, each with lengths, sequence number, flags and
// checksums of its own, and comes into the raw queue that the flow tables name.
func TestAccelerated_segments(t *testing.T) {
	first, second, qa, qb := twoCards(t)
	a, b := first.accelerate(qa), second.accelerate(qb)
	text := bytes.Repeat([]byte("0123456789abcdef"), 30)
	a.put(a.data, text)
	for range 3 {
		b.offer(1024)
	}
	head := tcpHead()
	a.transmit(opSegments, addressOf(0xb1b, b.number, 2, nil), head, 200, uint32(len(text)))
	if e := a.completion(qa, 0); e[63]>>4 != cqeSent || e[cqeNumber] != opSegments {
		t.Errorf("sent: % x", e)
	}
	for i, size := range []int{200, 200, 80} {
		e := b.completion(qb, uint64(i))
		whole := globalBytes + len(head) + size
		if e[63]>>4 != cqeReceived || number(e, cqeNumber) != b.number || int(be.Uint32(e[cqeBytes:])) != whole {
			t.Fatalf("packet %d: % x", i, e)
		}
	}
	// All were received into one page; the last is there still.
	packet := b.get(b.data+globalBytes, len(head)+80)
	ip := packet[encapsulation:]
	if be.Uint16(ip[ipv4Length:]) != ipv4Header+tcpHeader+80 || be.Uint16(ip[ipv4ID:]) != 9 {
		t.Errorf("IPv4: % x", ip[:ipv4Header])
	}
	tcp := ip[ipv4Header:]
	if be.Uint32(tcp[tcpSequence:]) != 1400 || tcp[tcpFlags]&tcpPush == 0 || !bytes.Equal(tcp[tcpHeader:], text[400:]) {
		t.Errorf("TCP: % x", tcp)
	}
	if fold(sum(0, ip[:ipv4Header])) != 0xffff {
		t.Error("the checksum of IPv4 is wrong")
	}
	if fold(sum(sum(protocolTCP+uint64(len(tcp)), ip[ipv4Source:ipv4Header]), tcp)) != 0xffff {
		t.Error("the checksum of TCP is wrong")
	}
	if e := b.completion(qb, 2); be.Uint16(e[cqeChecksum:]) != fold(sum(0, ip)) {
		t.Errorf("the completion's checksum is %#x", be.Uint16(e[cqeChecksum:]))
	}
}

// A packet that no entry of the tables leads anywhere is lost, and one to a queue that is
// not ready.
func TestAccelerated_no_flow(t *testing.T) {
	first, second, qa, qb := twoCards(t)
	a, b := first.accelerate(qa), second.accelerate(qb)
	b.offer(1024)
	arp := make([]byte, encapsulation+28)
	be.PutUint16(arp, 0x0806)
	to := addressOf(0xb1b, b.number, 2, nil)
	a.transmit(opSend, to, arp, 0, 8)
	if e := b.get(qb.cqPage, entryBytes); e[63]>>4 != 0xf {
		t.Errorf("a packet that matches nothing: % x", e)
	}
	a.transmit(opSend, to, tcpHead(), 0, 8)
	b.completion(qb, 0)
}

// An interface in a partition sends with its P_Key, and only members of the partition
// receive that.
func TestAccelerated_partition(t *testing.T) {
	const lab = 0x8001
	first, second, qa, qb := twoCards(t)
	a, b := first.accelerate(qa), second.accelerate(qb)
	keys := func(d *driver, more ...uint16) {
		table := be.AppendUint16(nil, 0xffff)
		for _, k := range more {
			table = be.AppendUint16(table, k)
		}
		d.smp(2, 0x16, append(table, make([]byte, 64-len(table))...))
	}
	keys(first, lab)
	takeSecond := func(d *driver, number uint32) {
		d.must(opRTSToRTS, 0, input(nil, func(in []byte) {
			be.PutUint32(in[8:], number)
			be.PutUint32(in[qpOptionsAt:], optPKey)
			be.PutUint16(in[qpContextAt+ctxPath+2:], 1)
		}), 16)
	}
	takeSecond(first, a.number)
	rtr := func(in []byte) { be.PutUint32(in[8:], a.number) }
	if out := first.command(opInitToRTR, 0, input(nil, rtr), 16); out[0] != badState {
		t.Errorf("a command of another state: status %#x", out[0])
	}
	b.offer(1024)
	to := addressOf(0xb1b, b.number, 2, nil)
	receivesNot := func(who string) {
		t.Helper()
		a.transmit(opSend, to, tcpHead(), 0, 8)
		if e := b.get(qb.cqPage, entryBytes); e[63]>>4 != 0xf {
			t.Errorf("%s receives % x", who, e)
		}
	}
	receivesNot("one who is not in the partition")
	keys(second, lab)
	receivesNot("an interface of another partition, on a port that is in it")
	takeSecond(second, b.number)
	a.transmit(opSend, to, tcpHead(), 0, 8)
	if e := b.completion(qb, 0); be.Uint32(e[cqeImmediate:]) != lab {
		t.Errorf("P_Key %#x", be.Uint32(e[cqeImmediate:]))
	}
}
