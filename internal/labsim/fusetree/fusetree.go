//go:build linux

package fusetree

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Entry is one name of a served tree: a directory, a symbolic link, a file of
// registers, or one with a value.
type Entry struct {
	Dir   func() map[string]Entry
	Link  string
	Regs  Registers
	Value []byte
	Set   func(string) syscall.Errno // nil: read only
}

// Registers is a file each access of which has an effect.
type Registers interface {
	Read(off int64, size int) []byte
	// Write is told the process that writes.
	Write(pid uint32, off int64, data []byte)
}

// Line is a file of one line.
func Line(format string, args ...any) Entry {
	return Entry{Value: []byte(fmt.Sprintf(format, args...) + "\n")}
}

func (e Entry) mode() uint32 {
	switch {
	case e.Dir != nil:
		return syscall.S_IFDIR | 0o755
	case e.Link != "":
		return syscall.S_IFLNK | 0o777
	case e.Regs != nil, e.Set != nil:
		return syscall.S_IFREG | 0o644
	}
	return syscall.S_IFREG | 0o444
}

// registersSize is that of a configuration space.
const registersSize = 4096

// node serves an entry. Nothing is cached, neither names nor contents: a card
// that boots other firmware shows other files at once.
type node struct {
	fs.Inode
	Entry
	root *node // nil for the root itself
	path []string
}

// list gives the names below a directory, or nil. The kernel keeps the node of a
// directory, in which another card may stand meanwhile: the way is gone anew.
func (n *node) list() map[string]Entry {
	at := n.Entry
	if n.root != nil {
		at = n.root.Entry
	}
	for _, name := range n.path {
		if at.Dir == nil {
			return nil
		}
		at = at.Dir()[name]
	}
	if at.Dir == nil {
		return nil
	}
	return at.Dir()
}

// Getattr implements fs.NodeGetattrer.
func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Nlink = n.mode(), 1
	out.Size = uint64(len(n.Value))
	if n.Regs != nil {
		out.Size = registersSize
	}
	return 0
}

// Setattr implements fs.NodeSetattrer: shells truncate what they write to.
func (n *node) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return n.Getattr(ctx, f, out)
}

// Lookup implements fs.NodeLookuper.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if n.Dir == nil {
		return nil, syscall.ENOTDIR
	}
	e, ok := n.list()[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	child := &node{Entry: e, root: n.root, path: append(slices.Clip(n.path), name)}
	if child.root == nil {
		child.root = n
	}
	var attr fuse.AttrOut
	_ = child.Getattr(ctx, nil, &attr)
	out.Attr = attr.Attr
	stable := fs.StableAttr{Mode: e.mode() & syscall.S_IFMT}
	if e.Dir != nil {
		// The kernel takes another number for another directory and would drop what
		// is mounted on it. Files get a new one at each look, with their new value.
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.Join(child.path, "/")))
		stable.Ino = h.Sum64()
	}
	return n.NewInode(ctx, child, stable), 0
}

// Readdir implements fs.NodeReaddirer.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	if n.Dir == nil {
		return nil, syscall.ENOTDIR
	}
	all := n.list()
	var list []fuse.DirEntry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := all[name]
		list = append(list, fuse.DirEntry{Name: name, Mode: e.mode()})
	}
	return fs.NewListDirStream(list), 0
}

// Readlink implements fs.NodeReadlinker.
func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) { return []byte(n.Link), 0 }

// Open implements fs.NodeOpener. Direct I/O hands every access through, in order
// and size: one for each register.
func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// Read implements fs.NodeReader.
func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if n.Regs != nil {
		size := min(int64(len(dest)), registersSize-off)
		return fuse.ReadResultData(n.Regs.Read(off, int(max(0, size)))), 0
	}
	begin := min(off, int64(len(n.Value)))
	return fuse.ReadResultData(n.Value[begin:min(int64(len(n.Value)), begin+int64(len(dest)))]), 0
}

// Write implements fs.NodeWriter.
func (n *node) Write(ctx context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	switch {
	case n.Regs != nil:
		var pid uint32
		if caller, ok := fuse.FromContext(ctx); ok {
			pid = caller.Pid
		}
		n.Regs.Write(pid, off, data)
	case n.Set != nil:
		if errno := n.Set(string(data)); errno != 0 {
			return 0, errno
		}
	default:
		return 0, syscall.EACCES
	}
	return uint32(len(data)), 0
}

// Mount serves a tree at a directory. The process that serves it must not
// look into it: it would wait for itself.
func Mount(at string, root Entry) error {
	// A program that is started meanwhile must not have the file: it would wait for its answer
	// when the server is gone. What go-fuse opens by itself is inherited.
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("serve the card at %s: /dev/fuse: %w", at, err)
	}
	err = unix.Mount("emulated-card", at, "fuse.card", unix.MS_NOSUID|unix.MS_NODEV,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd))
	if err == nil {
		// No time-outs: the kernel asks anew for every name.
		_, err = fs.Mount(fmt.Sprintf("/dev/fd/%d", fd), &node{Entry: root},
			&fs.Options{MountOptions: fuse.MountOptions{DisableXAttrs: true}})
	}
	if err != nil {
		return errors.Join(fmt.Errorf("serve the card at %s: %w", at, err), unix.Close(fd))
	}
	return nil
}
