package transport

import (
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// Operation is that of a send request.
type Operation int

// Operations.
const (
	OpSend Operation = iota
	OpSendImmediate
	OpWrite
	OpWriteImmediate
	OpRead
)

// Send is a send request.
type Send struct {
	Index     uint32 // whatever the chip's completion needs to name it
	Opcode    uint8  // of the chip, for its completion
	Batch     uint32 // of requests that were posted at once, for a chip that needs it
	Operation Operation
	// Malformed is the error of a request that cannot be read; Success if it can.
	Malformed  Status
	Local      bool // nothing goes to the wire: the chip has done it
	Signalled  bool // a success is completed too
	Solicited  bool
	Immediate  uint32
	Path       Path   // of a datagram, with the two below
	RemoteQP   uint32 //
	QKey       uint32 //
	Address    uint64 // of an RDMA request
	RKey       uint32
	Pieces     []Piece
	Loop       bool   // of a raw request: it goes to the port itself
	Permissive bool   // of a raw request: the source LID is the permissive one
	Length     uint32 // of the message, after it was gathered
	data       []byte
}

// Piece is a piece of memory of a work request, or data that stands in the request.
type Piece struct {
	Key    uint32
	Addr   uint64
	Size   uint32
	Inline []byte
}

// gather reads the data of a request. That of a read is what comes back.
func (w *Send) gather(c Chip, most uint32) bool {
	w.data, w.Length = nil, 0
	for _, p := range w.Pieces {
		size := p.Size
		if p.Inline != nil {
			size = uint32(len(p.Inline))
		}
		if size > most || w.Length+size > most {
			return false
		}
		w.Length += size
		switch {
		case p.Inline != nil:
			w.data = append(w.data, p.Inline...)
		case w.Operation != OpRead:
			at := len(w.data)
			w.data = slices.Grow(w.data, int(size))[:at+int(size)]
			if !c.Copy(p.Key, p.Addr, w.data[at:], LocalRead) {
				return false
			}
		}
	}
	return true
}

// check reads the data of a request, unless the chip could not read the request itself.
func (w *Send) check(c Chip, most uint32) Status {
	if w.Malformed == Success && !w.gather(c, most) {
		return LocalProtection
	}
	return w.Malformed
}

// maxDatagram is more than the longest datagram, with the headers of a raw one.
const maxDatagram = 4096 + 128

// most is the longest message of the service, in bytes.
func (q *QueuePair) most() uint32 {
	if q.Service == Reliable {
		return MaxMessage
	}
	return maxDatagram
}

// mostRequests bounds how many requests an error flushes. No queue is longer, but a driver can
// have completions written into it.
const mostRequests = 1 << 16

// portion is how many requests are started before the rest of the lab has its turn.
const portion = 1 << 9

// Ring works through the send queue, a portion at a time. A chip calls it at a doorbell.
func (q *QueuePair) Ring() {
	if q.State == Error {
		q.flushSends()
		return
	}
	for range portion {
		if q.State != ReadyToSend || !q.room() {
			return
		}
		w := q.rings.NextSend()
		if w == nil {
			return
		}
		if w.Local {
			q.complete(w)
			continue
		}
		if s := w.check(q.chip, q.most()); s != Success {
			q.rings.Sent(w, s)
			q.Fail()
			return
		}
		switch q.Service {
		case Reliable:
			q.request(w)
			continue // completed by the answer
		case Raw:
			q.sendRaw(w)
		case Datagram, Subnet, General:
			q.SendDatagram(w, w.data)
		}
		q.complete(w)
	}
	q.ringLater()
}

// ringLater has the next portion done.
func (q *QueuePair) ringLater() {
	if q.goesOn {
		return
	}
	q.goesOn = true
	q.later(0, func() {
		q.goesOn = false
		q.Ring()
	})
}

// complete tells of a success, if that was asked for.
func (q *QueuePair) complete(w *Send) {
	if w.Signalled {
		q.rings.Sent(w, Success)
	}
}

// sendRaw sends a request whose headers the driver has written: local route header, base
// transport header, datagram header, and room for a checksum.
func (q *QueuePair) sendRaw(w *Send) {
	const local, base, datagram, checksum = 8, 12, 8, 4
	d, p := w.data, q.port()
	if len(d) < local+base+datagram+checksum {
		return
	}
	k := &wire.Packet{SL: d[1] >> 4, DLID: be.Uint16(d[2:]), SLID: p.LID() | be.Uint16(d[6:])&0x7f}
	if w.Permissive {
		k.SLID = wire.Permissive
	}
	global := d[1]&3 == 3
	d = d[local:]
	if global {
		if len(d) < 40+base+datagram+checksum {
			return
		}
		k.GRH, d = d[:40], d[40:]
	}
	k.Opcode, k.Solicited, k.PKey = d[0], d[1]&0x80 != 0, be.Uint16(d[2:])
	k.DestQP, k.QKey, k.SrcQP = be.Uint32(d[4:])&0xffffff, be.Uint32(d[12:]), be.Uint32(d[16:])&0xffffff
	d = d[base+datagram:]
	if k.Opcode == wire.UDSendImm && len(d) >= 8 {
		v := be.Uint32(d)
		k.Immediate, d = &v, d[4:]
	}
	k.Payload = d[:len(d)-checksum]
	if w.Loop {
		p.Loop(k)
		return
	}
	p.Send(k)
}

// privileged is the bit of a Q_Key that stands for the one of the queue pair (10.2.5).
const privileged = 1 << 31

// SendDatagram sends data as an unreliable datagram to where a request says. Only an active
// port carries one that is not of subnet management.
func (q *QueuePair) SendDatagram(w *Send, data []byte) {
	p := q.chip.Port(w.Path.Port)
	if p == nil {
		p = q.port()
	}
	if q.Service != Subnet && p.State() != fabric.Active {
		return
	}
	k := &wire.Packet{SL: w.Path.SL, DLID: w.Path.DLID, SLID: p.LID() | uint16(w.Path.PathBits), DestQP: w.RemoteQP,
		QKey: w.QKey, SrcQP: q.source(), PKey: p.PKey(q.PKeyIndex), Payload: data, Opcode: wire.UDSend,
		Solicited: w.Solicited}
	if q.Service == Subnet && (k.DLID == wire.Permissive || p.LID() == 0) {
		k.SLID = wire.Permissive
	}
	if w.QKey&privileged != 0 {
		k.QKey = q.QKey
	}
	if w.Operation == OpSendImmediate {
		k.Opcode, k.Immediate = wire.UDSendImm, &w.Immediate
	}
	if w.Path.Global != nil {
		k.GRH = w.Path.Global.header(p.GID(), len(data))
	}
	p.Send(k)
}

// source is the number of the queue pair on the wire.
func (q *QueuePair) source() uint32 {
	if q.Service == Subnet {
		return 0
	}
	if q.Service == General {
		return 1
	}
	return q.Number
}
