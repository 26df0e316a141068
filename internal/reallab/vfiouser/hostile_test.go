//go:build linux

package vfiouser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// memory is a file of a size.
func memory(t testing.TB, size int64) int {
	t.Helper()
	fd, err := unix.MemfdCreate("guest", 0)
	if err == nil {
		err = unix.Ftruncate(fd, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

// A window can be larger than its file, and the file can shrink: that is an error of the
// access, and not the end of all cards.
func TestBus_short_file(t *testing.T) {
	var b Bus
	fd := memory(t, 4096)
	if err := b.Map(0, 1<<20, 0, fd); err != nil {
		t.Fatal(err)
	}
	defer b.Unmap()
	p := []byte("data")
	if err := b.Write(0, p); err != nil {
		t.Error(err)
	}
	if err := b.Write(8192, p); !errors.Is(err, ErrNoMemory) {
		t.Errorf("behind the end of the file: %v", err)
	}
	if err := unix.Ftruncate(fd, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.Read(0, p); !errors.Is(err, ErrNoMemory) {
		t.Errorf("after the file has shrunk: %v", err)
	}
}

// A machine cannot take the address space that all cards share.
func TestBus_limits(t *testing.T) {
	var b Bus
	defer b.Unmap()
	fd := memory(t, 4096)
	if err := b.Map(0, maxMapped+1, 0, fd); err == nil {
		t.Error("a window of more than the limit was mapped")
	}
	for i := range uint64(maxWindows) {
		if err := b.Map(i<<12, 4096, 0, fd); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Map(1<<40, 4096, 0, fd); err == nil {
		t.Error("there is no end of windows")
	}
}

// A file that takes nothing more does not hold up who interrupts.
func TestBus_full_file(t *testing.T) {
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fds[0]) }()
	var b Bus
	b.setEventFD(0, fds[1])
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20000 {
			b.Interrupt(0)
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for ever")
	}
	b.clearEventFDs()
}

// A machine that talks nonsense loses its card; the next one gets it.
func TestServe_nonsense(t *testing.T) {
	socket := t.TempDir() + "/s"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	f, done := &fake{}, make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- Serve(ctx, l, f, &Bus{}) }()
	dial := func() *client {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return &client{t, conn}
	}
	bad := dial()
	if _, err := bad.conn.Write(bytes.Repeat([]byte{0xff}, 64)); err != nil {
		t.Fatal(err)
	}
	if _, err := bad.conn.Read(make([]byte, 1)); err == nil {
		t.Error("nonsense was answered")
	}
	next := dial()
	if _, errno := next.ask(cmdReset, nil); errno != 0 || f.resets.Load() < 2 {
		t.Errorf("the next machine: %v, %d resets", errno, f.resets.Load())
	}
	_ = next.conn.Close()
	stop()
	if err := <-done; err == nil {
		t.Error("nobody is told of the nonsense")
	}
}

// FuzzSession holds that no stream of bytes, with files in it, does harm: it ends, and all
// files are closed.
func FuzzSession(f *testing.F) {
	message := func(command uint16, body []byte) []byte {
		m := make([]byte, headerSize, headerSize+len(body))
		le.PutUint16(m[2:], command)
		le.PutUint32(m[4:], uint32(headerSize+len(body)))
		return append(m, body...)
	}
	var start []byte
	start = append(start, message(cmdVersion, append(make([]byte, 4), "{}\x00"...))...)
	start = append(start, message(cmdDevice, make([]byte, 16))...)
	start = append(start, message(cmdRegion, make([]byte, 32))...)
	start = append(start, message(cmdMap, append(words(32, 3, 0, 0, 0, 0), le.AppendUint64(nil, 4096)...))...)
	start = append(start, message(cmdSetVectors, words(20, 0x24, msix, 0, 1))...)
	start = append(start, message(cmdWriteRegion, region(8, BAR0, 4, 1, 2, 3, 4))...)
	start = append(start, message(cmdReadRegion, region(0, BAR0, 64))...)
	start = append(start, message(cmdUnmap, append(words(24, 0), make([]byte, 16)...))...)
	f.Add(start, uint8(3))
	f.Add(bytes.Repeat([]byte{0xff}, 64), uint8(0))
	f.Add(start[:headerSize-1], uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, files uint8) {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		near := connOf(t, pair[0])
		far, err := newLine(connOf(t, pair[1]))
		if err != nil {
			t.Fatal(err)
		}
		b := &Bus{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = (&session{conn: far, function: &fake{}, bus: b}).run(t.Context())
			b.clear()
		}()
		go func() { // reads what comes back
			for buf := make([]byte, 1<<16); ; {
				if _, err := near.Read(buf); err != nil {
					return
				}
			}
		}()
		fd := memory(t, 4096)
		rights := unix.UnixRights(times(fd, int(files%maxFDs))...)
		for first := true; len(stream) > 0; first = false {
			n := min(len(stream), 97)
			if !first {
				rights = nil
			}
			if _, _, err := near.WriteMsgUnix(stream[:n], rights, nil); err != nil {
				break // it has ended the session
			}
			stream = stream[n:]
		}
		_ = near.Close()
		<-done
		if n := open(t, fd); n != 1 {
			t.Errorf("%d files are left", n-1)
		}
	})
}

// open is how many descriptors of this process are of a file.
func open(t *testing.T, fd int) (n int) {
	t.Helper()
	const all = "/proc/self/fd"
	mine, err := os.Stat(fmt.Sprint(all, "/", fd))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if other, err := os.Stat(all + "/" + e.Name()); err == nil && os.SameFile(mine, other) {
			n++
		}
	}
	return n
}

func times(fd, n int) (all []int) {
	for range n {
		all = append(all, fd)
	}
	return all
}

func connOf(t *testing.T, fd int) *net.UnixConn {
	t.Helper()
	file := os.NewFile(uintptr(fd), "socket")
	defer func() { _ = file.Close() }()
	c, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		t.Fatalf("%T", c)
	}
	return u
}
