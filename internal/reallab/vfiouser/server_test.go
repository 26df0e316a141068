//go:build linux

package vfiouser

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fake is a function with one region of 64 bytes.
type fake struct {
	data   [64]byte
	resets atomic.Int32
}

func (f *fake) RegionSize(r uint32) uint64 {
	if r == BAR0 {
		return uint64(len(f.data))
	}
	return 0
}
func (f *fake) ReadRegion(_ uint32, off uint64, p []byte)  { copy(p, f.data[off:]) }
func (f *fake) WriteRegion(_ uint32, off uint64, p []byte) { copy(f.data[off:], p) }
func (f *fake) Vectors() uint32                            { return 4 }
func (f *fake) Reset()                                     { f.resets.Add(1) }

// client is a machine.
type client struct {
	*testing.T
	conn *net.UnixConn
}

func serve(t *testing.T) (*client, *fake, *Bus) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	f, b, done := &fake{}, &Bus{}, make(chan error, 1)
	go func() { done <- Serve(t.Context(), l, f, b) }()
	t.Cleanup(func() {
		if ended := <-done; ended != nil {
			t.Error(ended)
		}
	})
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, conn}, f, b
}

// ask sends a request and gives what comes back, and the error number.
func (c *client) ask(command uint16, body []byte, fds ...int) ([]byte, unix.Errno) {
	c.Helper()
	m := make([]byte, headerSize+len(body))
	le.PutUint16(m, 7)
	le.PutUint16(m[2:], command)
	le.PutUint32(m[4:], uint32(len(m)))
	copy(m[headerSize:], body)
	if _, _, err := c.conn.WriteMsgUnix(m, unix.UnixRights(fds...), nil); err != nil {
		c.Fatal(err)
	}
	out := make([]byte, 4096)
	n, err := c.conn.Read(out)
	if err != nil || n < headerSize || le.Uint16(out) != 7 || le.Uint32(out[8:])&1 == 0 {
		c.Fatalf("answer % x: %v", out[:n], err)
	}
	return out[headerSize:n], unix.Errno(le.Uint32(out[12:]))
}

func region(off uint64, region, n uint32, data ...byte) []byte {
	b := le.AppendUint64(nil, off)
	return append(le.AppendUint32(le.AppendUint32(b, region), n), data...)
}

func TestServe_regions(t *testing.T) {
	c, f, _ := serve(t)
	if v, errno := c.ask(cmdVersion, append(make([]byte, 4), "{}\x00"...)); errno != 0 || !bytes.Contains(v, []byte("max_msg_fds")) {
		t.Errorf("version %q, %v", v, errno)
	}
	if out, _ := c.ask(cmdRegion, make([]byte, 32)); le.Uint64(out[16:]) != 64 || le.Uint32(out[4:]) != 3 {
		t.Errorf("region % x", out)
	}
	if out, _ := c.ask(cmdInterrupts, words(16, 0, msix, 0)); le.Uint32(out[12:]) != 4 {
		t.Errorf("interrupts % x", out)
	}
	if _, errno := c.ask(cmdWriteRegion, region(8, BAR0, 4, 1, 2, 3, 4)); errno != 0 || f.data[11] != 4 {
		t.Errorf("write: %v, % x", errno, f.data)
	}
	if out, errno := c.ask(cmdReadRegion, region(9, BAR0, 2)); errno != 0 || !slices.Equal(out[16:], []byte{2, 3}) {
		t.Errorf("read: %v, % x", errno, out)
	}
	for name, body := range map[string][]byte{"beyond the end": region(63, BAR0, 2), "far beyond": region(1<<63, BAR0, 2),
		"of a region that is not there": region(0, 3, 1), "cut": {1, 2}} {
		if _, errno := c.ask(cmdReadRegion, body); errno != unix.EINVAL {
			t.Errorf("a read %s: %v", name, errno)
		}
	}
	if _, errno := c.ask(99, nil); errno != unix.ENOTSUP {
		t.Errorf("an unknown command: %v", errno)
	}
	_ = c.conn.Close()
	for end := time.Now().Add(5 * time.Second); f.resets.Load() == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if f.resets.Load() != 1 {
		t.Errorf("the end of a machine reset the function %d times", f.resets.Load())
	}
}

// A function reaches the machine's memory, across two windows and no further.
func TestServe_memory(t *testing.T) {
	c, _, b := serve(t)
	defer func() { _ = c.conn.Close() }()
	fd, err := unix.MemfdCreate("guest", 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "guest")
	defer func() { _ = file.Close() }()
	if err = file.Truncate(8192); err != nil {
		t.Fatal(err)
	}
	window := func(offset, addr, size uint64) []byte {
		m := append(words(32, 3), le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, offset), addr), size)...)
		return m
	}
	for _, w := range [][]byte{window(0, 0x10000, 4096), window(4096, 0x11000, 4096)} {
		if _, errno := c.ask(cmdMap, w, fd); errno != 0 {
			t.Fatal(errno)
		}
	}
	text := []byte("across the border")
	if err = b.Write(0x10ff8, text); err != nil {
		t.Fatal(err)
	}
	got, seen := make([]byte, len(text)), make([]byte, len(text))
	if err = b.Read(0x10ff8, got); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err = file.ReadAt(seen, 4096-8); err != nil || !bytes.Equal(seen, text) {
		t.Errorf("the machine sees %q, %v", seen, err)
	}
	if err = b.Read(0x11ff8, got); err == nil {
		t.Error("a read beyond the memory succeeded")
	}
	if _, errno := c.ask(cmdUnmap, append(words(24, 0), le.AppendUint64(le.AppendUint64(nil, 0x11000), 4096)...)); errno != 0 {
		t.Error(errno)
	}
	if b.Write(0x11000, text) == nil || b.Write(0x10000, text) != nil {
		t.Error("the wrong window was taken away")
	}
}

// An interrupt that is raised while its vector has no eventfd is not lost.
func TestServe_interrupts(t *testing.T) {
	c, _, b := serve(t)
	defer func() { _ = c.conn.Close() }()
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	count := func() uint64 {
		var n [8]byte
		if _, err := unix.Read(fd, n[:]); err != nil {
			return 0
		}
		return le.Uint64(n[:])
	}
	set := func(flags uint32, fds ...int) unix.Errno {
		_, errno := c.ask(cmdSetVectors, words(20, flags, msix, 1, uint32(1)), fds...)
		return errno
	}
	b.Interrupt(1)
	if errno := set(0x24, fd); errno != 0 || count() != 1 {
		t.Errorf("the late interrupt did not come: %v", errno)
	}
	b.Interrupt(1)
	b.Interrupt(2) // nobody listens
	if n := count(); n != 1 {
		t.Errorf("%d interrupts", n)
	}
	if errno := set(0x24); errno != 0 { // taken away
		t.Error(errno)
	}
	b.Interrupt(1)
	if n := count(); n != 0 {
		t.Errorf("%d interrupts without a way", n)
	}
	if _, errno := c.ask(cmdSetVectors, words(20, 0x24, msix, 3, 9)); errno != unix.EINVAL {
		t.Errorf("vectors that are not there: %v", errno)
	}
}

// FuzzMessages holds that no body of a request does harm.
func FuzzMessages(f *testing.F) {
	for command, size := range shortest {
		f.Add(command, make([]byte, size))
	}
	f.Add(uint16(cmdMap), append(words(32, 3, 0, 0), bytes.Repeat([]byte{0xff}, 16)...))
	f.Fuzz(func(t *testing.T, command uint16, body []byte) {
		m := &message{body: body}
		le.PutUint16(m.header[2:], command)
		fn := &fake{}
		s := &session{function: fn, bus: &Bus{}}
		out, errno := s.answer(m)
		if errno == 0 && len(out) > maxMessage {
			t.Errorf("%d bytes come back", len(out))
		}
	})
}
