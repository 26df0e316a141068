// Package vfs is the in-memory file system of a simulated host: files,
// directories and symbolic links with modes, owners and times, files whose
// content is computed (for /sys and /proc), quotas and read-only areas.
//
// It must not know about cards, machines or shells, and it must never touch the
// real file system.
package vfs

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"
)

// Info describes a node. It implements fs.FileInfo.
type Info struct {
	FileName string
	FileSize int64
	FileMode fs.FileMode
	Modified time.Time
	Changed  time.Time // content, name, mode or owner
	UID, GID int
	Ino      uint64
	Nlink    int
	Attached any
}

// Name returns the base name of the file.
func (i Info) Name() string { return i.FileName }

// Size returns the length in bytes; computed files report 4096 as sysfs does.
func (i Info) Size() int64 { return i.FileSize }

// Mode returns type and permission bits.
func (i Info) Mode() fs.FileMode { return i.FileMode }

// ModTime returns the time of the last change of the content.
func (i Info) ModTime() time.Time { return i.Modified }

// IsDir says whether the node is a directory.
func (i Info) IsDir() bool { return i.FileMode.IsDir() }

// Sys returns the Info itself, for callers that want the owner.
func (i Info) Sys() any { return i }

// ReadFunc computes the content of a dynamic file.
type ReadFunc func() (string, error)

// WriteFunc takes one write(2) on a dynamic file. Content arrives as written,
// trailing newline included, because some kernel parsers need it.
type WriteFunc func(data string) error

// Dynamic is the behaviour of a directory whose entries are computed at every
// look-up, such as /proc.
type Dynamic struct {
	List   func() []string
	Lookup func(name string) *Node
}

// Node is one name of a file, directory or link.
type Node struct {
	name   string
	parent *Node
	*inode // that of all its names
}

type inode struct {
	mode     fs.FileMode
	uid, gid int
	mtime    time.Time
	ctime    time.Time // of a change that leaves mtime as it is
	ino      uint64
	nlink    int

	data     []byte
	target   string
	children map[string]*Node

	read    ReadFunc
	write   WriteFunc
	dynamic *Dynamic
	attach  any

	// device is set for /dev/null and friends.
	device deviceKind
	quota  *quota
}

type deviceKind int

const (
	notDevice deviceKind = iota
	devNull
	devZero
	devRandom
)

type quota struct {
	limit int64
	used  int64
}

// NewFile makes a detached computed file for a Dynamic directory.
func NewFile(name string, mode fs.FileMode, read ReadFunc, write WriteFunc) *Node {
	return &Node{name: name, inode: &inode{mode: mode.Perm(), read: read, write: write, nlink: 1}}
}

// NewLink makes a detached symbolic link for a Dynamic directory.
func NewLink(name, target string) *Node {
	return &Node{name: name, inode: &inode{mode: fs.ModeSymlink | 0o777, target: target, nlink: 1}}
}

// NewDir makes a detached directory for a Dynamic directory.
func NewDir(name string, entries ...*Node) *Node {
	n := &Node{name: name, inode: &inode{mode: fs.ModeDir | 0o555, children: map[string]*Node{}, nlink: 2}}
	for _, e := range entries {
		e.parent = n
		n.children[e.name] = e
	}
	return n
}

func (n *Node) isDir() bool     { return n.mode.IsDir() }
func (n *Node) isSymlink() bool { return n.mode&fs.ModeSymlink != 0 }

func (n *Node) child(name string) *Node {
	if n.dynamic != nil {
		if c := n.dynamic.Lookup(name); c != nil {
			c.parent = n
			return c
		}
	}
	return n.children[name]
}

func (n *Node) names() []string {
	names := slices.Collect(maps.Keys(n.children))
	if n.dynamic != nil {
		names = append(names, n.dynamic.List()...)
	}
	slices.Sort(names)
	return names
}

func (n *Node) info() Info {
	size := int64(len(n.data))
	switch {
	case n.isDir(), n.read != nil, n.write != nil:
		size = 4096
	case n.isSymlink():
		size = int64(len(n.target))
	}
	return Info{
		FileName: n.name, FileSize: size, FileMode: n.mode, Modified: n.mtime, Changed: n.changed(),
		UID: n.uid, GID: n.gid, Ino: n.ino, Nlink: n.nlink, Attached: n.attach,
	}
}

func (n *Node) changed() time.Time {
	if n.ctime.After(n.mtime) {
		return n.ctime
	}
	return n.mtime
}

// path returns the absolute path of the node.
func (n *Node) path() string {
	if n.parent == nil {
		return "/"
	}
	return path.Join(n.parent.path(), n.name)
}

// quotaRoot returns the nearest quota at or above the node.
func (n *Node) quotaRoot() *quota {
	for ; n != nil; n = n.parent {
		if n.quota != nil {
			return n.quota
		}
	}
	return nil
}
