//go:build linux

package umad

import (
	"context"
	"encoding/binary"
	"sync"
	"syscall"
	"time"
)

// The interface of the kernel's ib_umad, version 5, with P_Key index
// (include/uapi/rdma/ib_user_mad.h). A read or write is one datagram behind a
// header of headerSize bytes.
const (
	// ABIVersion is what /sys/class/infiniband_mad/abi_version says.
	ABIVersion = 5

	headerSize = 64
	regSize    = 28
	maxAgents  = 32

	ioctlRegister   = 0xc01c1b01
	ioctlUnregister = 0x40041b02
	ioctlPKey       = 0x1b03
)

// Offsets in the header.
const (
	atAgent   = 0
	atResult  = 4
	atTimeout = 8
	atRetries = 12
	atLength  = 16
	atQPN     = 20
	atLID     = 28
	atSL      = 30

	atPKeyIndex = 56
)

// answered is how much of a request comes back with the news that nobody answered
// it: the common header.
const answered = 24

const statusTimedOut = uint32(syscall.ETIMEDOUT)

// agent is one registration: a class of datagrams that a program sends and, if it
// names methods, also receives unasked.
type agent struct {
	file    *File
	id      uint32 // in its file
	number  uint32 // of the port; stands in each transaction
	class   byte
	methods [4]uint32
	rmpp    bool
	qpn     byte
}

// File is an open umadN.
type File struct {
	port *Port

	mu      sync.Mutex
	agents  [maxAgents]*agent
	waiting map[uint64]*time.Timer // by transaction
	partial map[uint64][]mad       // segments of an answer
	queue   [][]byte               // nil: a wait is over
	more    chan struct{}          // holds a token while the queue is not empty
	closed  bool
}

// Open is a program that opens the port's file.
func (p *Port) Open() *File {
	return &File{port: p, waiting: map[uint64]*time.Timer{}, partial: map[uint64][]mad{}, more: make(chan struct{}, 1)}
}

// Ioctl registers and unregisters agents.
func (f *File) Ioctl(cmd uint32, in, out []byte) syscall.Errno {
	switch cmd {
	case ioctlPKey:
		return 0
	case ioctlRegister:
		if len(in) < regSize || len(out) < regSize {
			return syscall.EINVAL
		}
		return f.register(in, out)
	case ioctlUnregister:
		if len(in) < 4 {
			return syscall.EINVAL
		}
		return f.unregister(binary.NativeEndian.Uint32(in))
	}
	return syscall.ENOTTY
}

func (f *File) register(in, out []byte) syscall.Errno {
	a := &agent{file: f, qpn: in[20], class: in[21], rmpp: in[26] != 0}
	for i := range a.methods {
		a.methods[i] = binary.NativeEndian.Uint32(in[4+4*i:])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.agents {
		if f.agents[i] != nil {
			continue
		}
		a.id = uint32(i)
		if !f.port.add(a) {
			return syscall.EINVAL
		}
		f.agents[i] = a
		copy(out, in[:regSize])
		binary.NativeEndian.PutUint32(out, a.id)
		return 0
	}
	return syscall.ENOMEM
}

func (f *File) unregister(id uint32) syscall.Errno {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id >= maxAgents || f.agents[id] == nil {
		return syscall.EINVAL
	}
	f.port.remove(f.agents[id])
	f.agents[id] = nil
	return 0
}

// Close ends all that the program began.
func (f *File) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for i, a := range f.agents {
		if a != nil {
			f.port.remove(a)
			f.agents[i] = nil
		}
	}
	for _, r := range f.waiting {
		r.Stop()
	}
}

// Read waits for the next datagram, header included, and returns all of it, as
// does not fit into size too: then the errno is ENOSPC, the datagram stays, and
// the program has to be given the header all the same. ETIMEDOUT ends the wait for an
// answer of which the kernel does not tell.
func (f *File) Read(ctx context.Context, size int) ([]byte, syscall.Errno) {
	for {
		select {
		case <-ctx.Done():
			return nil, syscall.EINTR
		case <-f.more:
		}
		f.mu.Lock()
		if len(f.queue) == 0 {
			f.mu.Unlock()
			continue
		}
		b := f.queue[0]
		var errno syscall.Errno
		switch {
		case len(b) > size:
			errno = syscall.ENOSPC
		case b == nil:
			errno = syscall.ETIMEDOUT
			fallthrough
		default:
			f.queue = f.queue[1:]
		}
		if len(f.queue) > 0 {
			f.wake()
		}
		f.mu.Unlock()
		return b, errno
	}
}

// wake says that there is something in the queue. The caller holds the lock.
func (f *File) wake() {
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// deliver queues a datagram for the program. The caller holds the lock.
func (f *File) deliver(a *agent, d arrival, status uint32) {
	b := make([]byte, headerSize+len(d.mad))
	binary.NativeEndian.PutUint32(b[atAgent:], a.id)
	binary.NativeEndian.PutUint32(b[atResult:], status)
	binary.NativeEndian.PutUint32(b[atLength:], uint32(len(b)))
	binary.BigEndian.PutUint32(b[atQPN:], d.qpn)
	binary.BigEndian.PutUint16(b[atLID:], d.lid)
	b[atSL] = d.sl
	copy(b[headerSize:], d.mad)
	f.queue = append(f.queue, b)
	f.wake()
}

// Write sends a datagram. What a program sends before it has registered it may not.
func (f *File) Write(b []byte) syscall.Errno {
	if len(b) < headerSize+answered {
		return syscall.EINVAL
	}
	id := binary.NativeEndian.Uint32(b[atAgent:])
	f.mu.Lock()
	if id >= maxAgents || f.agents[id] == nil {
		f.mu.Unlock()
		return syscall.EINVAL
	}
	a := f.agents[id]
	f.mu.Unlock()
	list := a.packets(b)
	f.expect(a, b, list[0])
	if !f.port.send(a, b, list...) {
		f.giveUp(a, list[0])
	}
	return 0
}

// expect waits for the answer to a request, as long as its sender wants.
func (f *File) expect(a *agent, b []byte, m mad) {
	wait := patience(b)
	if wait <= 0 || m.isResponse() {
		return
	}
	m = append(mad(nil), m...) // its route advances
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[m.transaction()] = time.AfterFunc(wait, func() { f.giveUp(a, m) })
}

// patience is how long the sender of a request waits for the answer, all tries together.
func patience(b []byte) time.Duration {
	timeout := time.Duration(binary.NativeEndian.Uint32(b[atTimeout:])) * time.Millisecond
	return timeout * time.Duration(1+min(binary.NativeEndian.Uint32(b[atRetries:]), 10))
}

// expectLocally is for a request of which the kernel never says that it has timed out.
// Its sender sees that by poll, as soon as its time is over. A file of FUSE cannot be
// polled, so the read that waits ends as umad_recv does then.
func (f *File) expectLocally(b []byte, m mad) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := m.transaction()
	r := f.waiting[t]
	if r == nil || !r.Stop() {
		return
	}
	f.waiting[t] = time.AfterFunc(patience(b), func() { f.endWait(t) })
}

func (f *File) endWait(transaction uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[transaction] == nil || f.closed {
		return
	}
	delete(f.waiting, transaction)
	f.queue = append(f.queue, nil)
	f.wake()
}

// giveUp tells the sender of a request, if it still waits, that nobody answered.
func (f *File) giveUp(a *agent, m mad) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.waiting[m.transaction()]
	if r == nil || f.closed {
		return
	}
	r.Stop()
	delete(f.waiting, m.transaction())
	delete(f.partial, m.transaction())
	f.deliver(a, arrival{mad: m[:answered]}, statusTimedOut)
}
