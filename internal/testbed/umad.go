//go:build testbed && linux

package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/ibfabric/terraform-provider-infiniband/internal/testbed/umad"
)

// ibPort is a port as the module ib_umad sees it.
type ibPort struct {
	device *Device
	number int // counted from one
}

func (p ibPort) port() *umad.Port { return p.device.HCA.Port(p.number) }

// devTree is what stands at /dev/infiniband. The files are none of a character
// device, which no program of the fabric minds.
func devTree(slots func() map[string]*Device) entry {
	return dir(func() map[string]entry {
		all := map[string]entry{}
		for n, p := range ibPorts(slots()) {
			all[fmt.Sprint("umad", n)] = entry{open: func() (fs.FileHandle, syscall.Errno) {
				return umadHandle{p.port().Open()}, 0
			}}
			all[fmt.Sprint("issm", n)] = entry{open: func() (fs.FileHandle, syscall.Errno) {
				if p.port().Manage() != nil {
					return nil, syscall.EAGAIN
				}
				return issmHandle{p.port()}, 0
			}}
		}
		return all
	})
}

// issmHandle is an open issmN.
type issmHandle struct{ port *umad.Port }

// Release implements fs.FileReleaser.
func (h issmHandle) Release(context.Context) syscall.Errno {
	h.port.Unmanage()
	return 0
}

// umadHandle is an open umadN.
type umadHandle struct{ file *umad.File }

// Read implements fs.FileReader. It waits: the kernel was told that such files
// cannot be polled, so that poll says at once that there is something to read.
func (h umadHandle) Read(ctx context.Context, dest []byte, _ int64) (fuse.ReadResult, syscall.Errno) {
	b, errno := h.file.Read(ctx, len(dest))
	if errno == syscall.ENOSPC {
		if caller, ok := ctx.(*fuse.Context); !ok || poke(caller.Pid, b[:len(dest)]) != nil {
			return nil, syscall.EFAULT
		}
	}
	return fuse.ReadResultData(b), errno
}

// Write implements fs.FileWriter.
func (h umadHandle) Write(_ context.Context, data []byte, _ int64) (uint32, syscall.Errno) {
	if errno := h.file.Write(data); errno != 0 {
		return 0, errno
	}
	return uint32(len(data)), 0
}

// Ioctl implements fs.FileIoctler.
func (h umadHandle) Ioctl(_ context.Context, cmd uint32, _ uint64, in, out []byte) (int32, syscall.Errno) {
	return 0, h.file.Ioctl(cmd, in, out)
}

// Release implements fs.FileReleaser.
func (h umadHandle) Release(context.Context) syscall.Errno {
	h.file.Close()
	return 0
}

// poke writes into the buffer of a thread that waits in a read. ib_umad fills the
// buffer and fails where a datagram does not fit; of that the program learns the
// size. A file system can do either only.
func poke(thread uint32, b []byte) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", thread))
	if err != nil {
		return err
	}
	// Number of the call, then its arguments: descriptor, buffer, size.
	words := strings.Fields(string(text))
	if len(words) < 4 || words[0] != strconv.Itoa(syscall.SYS_READ) {
		return fmt.Errorf("testbed: thread %d does not read: %s", thread, bytes.TrimSpace(text))
	}
	at, err := strconv.ParseInt(words[2], 0, 64)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", thread), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = mem.WriteAt(b, at)
	return errors.Join(err, mem.Close())
}
