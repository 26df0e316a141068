package vfs

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// File is an open file. It implements io.Reader, io.Writer, io.ReaderAt,
// io.WriterAt and io.Closer. A computed file takes its content at the first read.
type File struct {
	fs     *FS
	node   *Node
	name   string
	flag   int
	offset int64
	loaded bool
	cache  []byte
	closed bool
}

// Open opens name with the flags of os.OpenFile.
func (f *FS) Open(cred Cred, name string, flag int, perm fs.FileMode) (*File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.open(cred, name, flag, perm)
	if err != nil {
		return nil, pathErr("open", name, err)
	}
	return &File{fs: f, node: n, name: name, flag: flag}, nil
}

const accessMask = os.O_RDONLY | os.O_WRONLY | os.O_RDWR

func (f *FS) open(cred Cred, name string, flag int, perm fs.FileMode) (*Node, error) {
	n, err := f.walk(name, true, cred)
	if err != nil {
		if !errors.Is(err, syscall.ENOENT) || flag&os.O_CREATE == 0 {
			return nil, err
		}
		return f.create(cred, name, perm)
	}
	if flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0 {
		return nil, syscall.EEXIST
	}
	writing := flag&accessMask != os.O_RDONLY
	if n.isDir() && writing {
		return nil, syscall.EISDIR
	}
	if flag&accessMask != os.O_WRONLY && !isAllowed(n, cred, 4) || writing && !isAllowed(n, cred, 2) {
		return nil, syscall.EACCES
	}
	if !writing || n.device != notDevice || n.write != nil {
		return n, nil
	}
	if f.isReadOnly(n.path()) {
		return nil, syscall.EROFS
	}
	if n.read != nil {
		return nil, syscall.EACCES
	}
	if flag&os.O_TRUNC != 0 {
		if q := n.quotaRoot(); q != nil {
			q.used -= int64(len(n.data))
		}
		n.data, n.mtime = nil, f.now()
	}
	return n, nil
}

func (f *FS) create(cred Cred, name string, perm fs.FileMode) (*Node, error) {
	// A dangling link creates its target, as open(2) does.
	if l, err := f.walk(name, false, cred); err == nil && l.isSymlink() {
		name = l.target
	}
	if strings.HasPrefix(path.Clean(name), "/sys/") {
		return nil, syscall.EACCES // sysfs makes no files, not even for root
	}
	dir, base, err := f.parentOf(name, cred)
	if err != nil {
		return nil, err
	}
	if err := f.mayChange(dir, cred); err != nil {
		return nil, err
	}
	return f.newNode(base, perm.Perm(), cred, dir), nil
}

// Name returns the name the file was opened with.
func (h *File) Name() string { return h.name }

// Computed says whether writes go to a function: every write is one store then.
func (h *File) Computed() bool { return h.node.write != nil }

// Info describes the open file.
func (h *File) Info() Info {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.node.info()
}

func (h *File) content() ([]byte, error) {
	if h.node.isDir() {
		return nil, syscall.EISDIR
	}
	if h.node.read == nil {
		return h.node.data, nil
	}
	if h.loaded {
		return h.cache, nil
	}
	h.fs.mu.Unlock()
	s, err := h.node.read()
	h.fs.mu.Lock()
	if err != nil {
		return nil, err
	}
	h.cache, h.loaded = []byte(s), true
	return h.cache, nil
}

// Read reads from the current position.
func (h *File) Read(p []byte) (int, error) {
	n, err := h.ReadAt(p, h.offset)
	h.offset += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt reads at an offset.
func (h *File) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.flag&accessMask == os.O_WRONLY {
		return 0, pathErr("read", h.name, syscall.EBADF)
	}
	switch h.node.device {
	case devNull:
		return 0, io.EOF
	case devZero:
		clear(p)
		return len(p), nil
	case devRandom:
		return rand.Read(p)
	case notDevice:
	}
	data, err := h.content()
	if err != nil {
		return 0, pathErr("read", h.name, err)
	}
	if off >= int64(len(data)) {
		return 0, io.EOF
	}
	n := copy(p, data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write writes at the current position, or at the end with O_APPEND.
func (h *File) Write(p []byte) (int, error) {
	if h.flag&os.O_APPEND != 0 && h.node.write == nil {
		h.fs.mu.Lock()
		h.offset = int64(len(h.node.data))
		h.fs.mu.Unlock()
	}
	n, err := h.WriteAt(p, h.offset)
	h.offset += int64(n)
	return n, err
}

// WriteAt writes at an offset. A computed file takes every call as one store.
func (h *File) WriteAt(p []byte, off int64) (int, error) {
	if h.flag&accessMask == os.O_RDONLY {
		return 0, pathErr("write", h.name, syscall.EBADF)
	}
	if h.node.device != notDevice {
		return len(p), nil
	}
	if h.node.write != nil {
		if err := h.node.write(string(p)); err != nil {
			return 0, pathErr("write", h.name, err)
		}
		return len(p), nil
	}
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.fs.charge(h.node, off+int64(len(p))-int64(len(h.node.data))); err != nil {
		return 0, pathErr("write", h.name, err)
	}
	end := off + int64(len(p))
	if end > int64(len(h.node.data)) {
		grown := h.node.data
		if end > int64(cap(grown)) {
			grown = make([]byte, len(h.node.data), max(end, 2*int64(cap(h.node.data))))
			copy(grown, h.node.data)
		}
		tail := grown[len(h.node.data):end]
		clear(tail)
		h.node.data = grown[:end]
	}
	copy(h.node.data[off:], p)
	h.node.mtime = h.fs.now()
	return len(p), nil
}

// charge books growth against the quota and applies an injected write fault.
func (f *FS) charge(n *Node, growth int64) error {
	if f.failIn > 0 {
		if f.failIn--; f.failIn == 0 {
			return f.failErr
		}
	}
	if growth <= 0 {
		return nil
	}
	q := n.quotaRoot()
	if q == nil {
		return nil
	}
	if q.used+growth > q.limit {
		return syscall.ENOSPC
	}
	q.used += growth
	return nil
}

// Truncate sets the length.
func (h *File) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	growth := size - int64(len(h.node.data))
	if err := h.fs.charge(h.node, growth); err != nil {
		return pathErr("truncate", h.name, err)
	}
	if growth <= 0 {
		if q := h.node.quotaRoot(); q != nil {
			q.used += growth
		}
		h.node.data = h.node.data[:size:size]
		return nil
	}
	h.node.data = append(h.node.data, make([]byte, growth)...)
	return nil
}

// Close ends the use of the file.
func (h *File) Close() error {
	if h.closed {
		return pathErr("close", h.name, fs.ErrClosed)
	}
	h.closed = true
	return nil
}
