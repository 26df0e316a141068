//go:build linux

package vfiouser

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// Regions of a PCI function, as vfio numbers them.
const (
	BAR0   = 0
	BAR2   = 2
	Config = 7
)

// Function is a PCI function. Its methods may be called at the same time as those of
// another function, and never at the same time as each other.
type Function interface {
	// RegionSize is the size of a region; 0 if the function has none.
	RegionSize(region uint32) uint64
	// ReadRegion fills p, which lies inside the region, and WriteRegion stores it.
	ReadRegion(region uint32, offset uint64, p []byte)
	WriteRegion(region uint32, offset uint64, p []byte)
	// Vectors is how many MSI-X vectors the function has.
	Vectors() uint32
	// Reset is what the bus does at a restart, and power when a machine ends.
	Reset()
}

// Commands of the protocol.
const (
	cmdVersion     = 1
	cmdMap         = 2
	cmdUnmap       = 3
	cmdDevice      = 4
	cmdRegion      = 5
	cmdInterrupts  = 7
	cmdSetVectors  = 8
	cmdReadRegion  = 9
	cmdWriteRegion = 10
	cmdReset       = 13
)

const (
	headerSize = 16
	// maxMessage bounds a message; a region is read and written in smaller pieces.
	maxMessage = 1<<20 + 64
	// maxFDs is what the server's capabilities promise to take in one message.
	maxFDs = 16
	// msix is the index of MSI-X among the kinds of interrupts.
	msix = 2
)

// capabilities is the server's half of the agreement on the version.
const capabilities = `{"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576,"pgsizes":4096,"max_dma_maps":512}}` +
	"\x00"

var le = binary.LittleEndian

// Serve takes one machine after another until ctx ends. The end of a machine takes the
// power from the function. What a machine has done wrong ends it, and comes back in the
// end.
func Serve(ctx context.Context, l *net.UnixListener, f Function, b *Bus) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var wrong error
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return wrong
			}
			return errors.Join(fmt.Errorf("vfiouser: %w", err), wrong)
		}
		conn, err := newLine(c)
		if err != nil {
			// Else the next machine would wait for a server that is gone.
			return errors.Join(fmt.Errorf("vfiouser: %w", err), c.Close(), l.Close(), wrong)
		}
		err = (&session{conn: conn, function: f, bus: b}).run(ctx)
		f.Reset()
		b.clear()
		if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
			wrong = err
		}
	}
}

// session is one machine.
type session struct {
	conn     *line
	function Function
	bus      *Bus
}

func (s *session) run(ctx context.Context) error {
	defer func() { _ = s.conn.close() }()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		s.conn.hangUp()
		close(ended)
	})
	defer func() {
		if !stop() {
			<-ended // it has the file in its hands
		}
	}()
	for {
		m, err := s.receive()
		if err != nil {
			if errors.Is(err, unix.ECONNRESET) {
				err = io.EOF // a machine that was killed
			}
			return err
		}
		out, errno := s.answer(m)
		m.close()
		if m.noReply() {
			continue
		}
		if err := s.reply(m, out, errno); err != nil {
			return io.EOF // the machine is gone; what it asked has been done
		}
	}
}

// message is a request of the machine with the files that came with it.
type message struct {
	header [headerSize]byte
	body   []byte
	fds    []int
}

func (m *message) command() uint16 { return le.Uint16(m.header[2:]) }
func (m *message) noReply() bool   { return le.Uint32(m.header[8:])&0x10 != 0 }

// take gives a file to the caller, who closes it; -1 if there is none.
func (m *message) take() int {
	if len(m.fds) == 0 {
		return -1
	}
	fd := m.fds[0]
	m.fds = m.fds[1:]
	return fd
}

// close closes the files that nobody has taken.
func (m *message) close() {
	for _, fd := range m.fds {
		_ = unix.Close(fd)
	}
	m.fds = nil
}

func (s *session) receive() (*message, error) {
	m, oob := &message{}, make([]byte, unix.CmsgSpace(4*maxFDs))
	for got := 0; got < headerSize; {
		n, rights, err := s.conn.receive(m.header[got:], oob)
		if err != nil {
			m.close()
			return nil, err
		}
		m.fds = append(m.fds, filesOf(oob[:rights])...)
		got += n
	}
	size := le.Uint32(m.header[4:])
	if size < headerSize || size > maxMessage {
		m.close()
		return nil, fmt.Errorf("vfiouser: message of %d bytes", size)
	}
	m.body = make([]byte, size-headerSize)
	if _, err := io.ReadFull(s.conn, m.body); err != nil {
		m.close()
		return nil, io.EOF
	}
	return m, nil
}

func filesOf(rights []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for i := range messages {
		if some, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, some...)
		}
	}
	return fds
}

func (s *session) reply(m *message, out []byte, errno unix.Errno) error {
	flags := uint32(1)
	if errno != 0 {
		flags, out = flags|0x20, nil
	}
	b := make([]byte, headerSize, headerSize+len(out))
	copy(b, m.header[:4])
	le.PutUint32(b[4:], uint32(headerSize+len(out)))
	le.PutUint32(b[8:], flags)
	le.PutUint32(b[12:], uint32(errno))
	_, err := s.conn.Write(append(b, out...))
	return err
}

// shortest is how many bytes a request has at least.
var shortest = map[uint16]int{cmdVersion: 4, cmdMap: 32, cmdUnmap: 24, cmdDevice: 16, cmdRegion: 32, cmdInterrupts: 16,
	cmdSetVectors: 20, cmdReadRegion: 16, cmdWriteRegion: 16, cmdReset: 0}

func (s *session) answer(m *message) ([]byte, unix.Errno) {
	at, known := shortest[m.command()]
	if !known {
		return nil, unix.ENOTSUP
	}
	if len(m.body) < at {
		return nil, unix.EINVAL
	}
	switch in := m.body; m.command() {
	case cmdVersion:
		return append(make([]byte, 4), capabilities...), 0 // version 0.0
	case cmdMap:
		return s.mapMemory(m)
	case cmdUnmap:
		return s.unmapMemory(in)
	case cmdDevice:
		return words(16, 1|2, 9, 5), 0 // can be reset, PCI; nine regions, five kinds of interrupts
	case cmdRegion:
		return s.region(le.Uint32(in[8:])), 0
	case cmdInterrupts:
		return s.interrupts(le.Uint32(in[8:])), 0
	case cmdSetVectors:
		return s.setVectors(m)
	case cmdReadRegion, cmdWriteRegion:
		return s.access(in, m.command() == cmdWriteRegion)
	default:
		s.function.Reset()
		return nil, 0
	}
}

func words(values ...uint32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = le.AppendUint32(b, v)
	}
	return b
}

func (s *session) mapMemory(m *message) ([]byte, unix.Errno) {
	fd := m.take()
	if fd >= 0 {
		defer func() { _ = unix.Close(fd) }() // the mapping keeps the memory
	}
	offset, addr, size := le.Uint64(m.body[8:]), le.Uint64(m.body[16:]), le.Uint64(m.body[24:])
	if size == 0 || size > 1<<40 || addr+size < addr || offset > 1<<40 {
		return nil, unix.EINVAL
	}
	if err := s.bus.Map(addr, size, offset, fd); err != nil {
		return nil, unix.EINVAL
	}
	return nil, 0
}

func (s *session) unmapMemory(in []byte) ([]byte, unix.Errno) {
	const all = 2
	from, size := le.Uint64(in[8:]), le.Uint64(in[16:])
	s.bus.remove(func(addr, n uint64) bool {
		return le.Uint32(in[4:])&all != 0 || addr >= from && addr-from <= size && n <= size-(addr-from)
	})
	return in[:24], 0
}

func (s *session) region(i uint32) []byte {
	size, flags := s.function.RegionSize(i), uint32(0)
	if size > 0 {
		flags = 1 | 2 // read, write
	}
	return append(words(32, flags, i, 0), append(le.AppendUint64(nil, size), make([]byte, 8)...)...)
}

func (s *session) interrupts(kind uint32) []byte {
	if kind == msix {
		return words(16, 1|8, kind, s.function.Vectors()) // by eventfd, of fixed number
	}
	return words(16, 0, kind, 0)
}

func (s *session) setVectors(m *message) ([]byte, unix.Errno) {
	const none, eventfd, trigger = 1, 4, 0x20
	flags, kind := le.Uint32(m.body[4:]), le.Uint32(m.body[8:])
	start, count := le.Uint32(m.body[12:]), le.Uint32(m.body[16:])
	if kind != msix || flags&trigger == 0 {
		return nil, 0 // the function has no other interrupts, and masks none
	}
	if all := s.function.Vectors(); start > all || count > all-start {
		return nil, unix.EINVAL
	}
	switch {
	case flags&eventfd != 0:
		for v := start; v < start+count; v++ {
			if fd := m.take(); fd >= 0 {
				s.bus.setEventFD(v, fd)
			} else {
				s.bus.mu.Lock()
				s.bus.clearEventFD(v)
				s.bus.mu.Unlock()
			}
		}
	case flags&none != 0 && count == 0:
		s.bus.clearEventFDs()
	}
	return nil, 0
}

// access reads or writes a piece of a region.
func (s *session) access(in []byte, write bool) ([]byte, unix.Errno) {
	offset, region, n := le.Uint64(in), le.Uint32(in[8:]), uint64(le.Uint32(in[12:]))
	size := s.function.RegionSize(region)
	if n > maxMessage-64 || offset > size || n > size-offset {
		return nil, unix.EINVAL
	}
	if !write {
		out := make([]byte, 16+n)
		copy(out, in[:16])
		s.function.ReadRegion(region, offset, out[16:])
		return out, 0
	}
	if uint64(len(in)-16) < n {
		return nil, unix.EINVAL
	}
	s.function.WriteRegion(region, offset, in[16:16+n])
	return in[:16], 0
}
