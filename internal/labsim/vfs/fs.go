package vfs

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const maxLinks = 40

// Cred is who asks: UID 0 may do everything.
type Cred struct {
	UID  int
	GIDs []int
}

// Root is the all-powerful credential.
var Root = Cred{}

// FS is one host's file system. It is safe for concurrent use; the functions of
// computed files run without its lock held.
type FS struct {
	mu       sync.Mutex
	root     *Node
	now      func() time.Time
	nextIno  uint64
	readOnly []string
	failIn   int
	failErr  error
}

// New returns a file system with an empty root directory.
func New(now func() time.Time) *FS {
	f := &FS{now: now, nextIno: 2}
	f.root = &Node{name: "/", inode: &inode{mode: fs.ModeDir | 0o755, children: map[string]*Node{}, ino: 1, nlink: 2,
		mtime: now()}}
	f.root.quota = &quota{limit: 8 << 30}
	return f
}

func pathErr(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// walk resolves name. With follow unset the last link is not resolved.
func (f *FS) walk(name string, follow bool, cred Cred) (*Node, error) {
	links := 0
	return f.walkFrom(f.root, name, follow, cred, &links)
}

func (f *FS) walkFrom(n *Node, name string, follow bool, cred Cred, links *int) (*Node, error) {
	if strings.HasPrefix(name, "/") {
		n = f.root
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		if part == "" || part == "." {
			continue
		}
		if !n.isDir() {
			return nil, syscall.ENOTDIR
		}
		if !isAllowed(n, cred, 1) {
			return nil, syscall.EACCES
		}
		if part == ".." {
			if n.parent != nil {
				n = n.parent
			}
			continue
		}
		c := n.child(part)
		if c == nil {
			return nil, syscall.ENOENT
		}
		last := strings.Trim(strings.Join(parts[i+1:], ""), "/.") == ""
		if c.isSymlink() && (follow || !last) {
			if *links++; *links > maxLinks {
				return nil, syscall.ELOOP
			}
			t, err := f.walkFrom(n, c.target, true, cred, links)
			if err != nil {
				return nil, err
			}
			c = t
		}
		n = c
	}
	return n, nil
}

// isAllowed checks the rwx bits (4, 2, 1) of a node.
func isAllowed(n *Node, cred Cred, want fs.FileMode) bool {
	if cred.UID == 0 {
		return want != 1 || n.isDir() || n.mode.Perm()&0o111 != 0
	}
	bits := n.mode.Perm()
	switch {
	case cred.UID == n.uid:
		bits >>= 6
	case slices.Contains(cred.GIDs, n.gid):
		bits >>= 3
	}
	return bits&want == want
}

// parentOf resolves the directory that holds name and returns it with the base name.
func (f *FS) parentOf(name string, cred Cred) (*Node, string, error) {
	dir, base := path.Split(path.Clean("/" + name))
	n, err := f.walk(dir, true, cred)
	if err != nil {
		return nil, "", err
	}
	if !n.isDir() {
		return nil, "", syscall.ENOTDIR
	}
	return n, base, nil
}

// mayChange checks that entries of dir may be made or removed.
func (f *FS) mayChange(dir *Node, cred Cred) error {
	if f.isReadOnly(dir.path()) {
		return syscall.EROFS
	}
	if dir.dynamic != nil {
		return syscall.EPERM
	}
	if !isAllowed(dir, cred, 3) {
		return syscall.EACCES
	}
	return nil
}

// mayDelete adds the sticky bit rule to mayChange.
func (f *FS) mayDelete(dir, n *Node, cred Cred) error {
	if err := f.mayChange(dir, cred); err != nil {
		return err
	}
	if dir.mode&fs.ModeSticky != 0 && cred.UID != 0 && cred.UID != n.uid && cred.UID != dir.uid {
		return syscall.EPERM
	}
	return nil
}

func (f *FS) isReadOnly(p string) bool {
	best, ro := -1, false
	for _, r := range f.readOnly {
		prefix, on := strings.TrimPrefix(r, "!"), !strings.HasPrefix(r, "!")
		if (prefix == "/" || p == prefix || strings.HasPrefix(p, prefix+"/")) && len(prefix) > best {
			best, ro = len(prefix), on
		}
	}
	return ro
}

// SetReadOnly makes a tree read-only or writable; the longest prefix decides.
func (f *FS) SetReadOnly(prefix string, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	prefix = path.Clean(prefix)
	f.readOnly = slices.DeleteFunc(f.readOnly, func(r string) bool { return strings.TrimPrefix(r, "!") == prefix })
	mark := prefix
	if !on {
		mark = "!" + prefix
	}
	f.readOnly = append(f.readOnly, mark)
}

// SetQuota limits the bytes below a directory; what is there counts at once.
// Limit 0 makes the tree full.
func (f *FS) SetQuota(dir string, limit int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(dir, true, Root)
	if err != nil {
		return pathErr("quota", dir, err)
	}
	n.quota = &quota{limit: limit, used: usage(n)}
	return nil
}

func usage(n *Node) int64 {
	total := int64(len(n.data))
	for _, c := range n.children {
		total += usage(c)
	}
	return total
}

// Space returns limit and use, in bytes, of the file system that holds name.
func (f *FS) Space(name string) (limit, used int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, true, Root)
	if err != nil {
		return 0, 0, pathErr("statfs", name, err)
	}
	q := n.quotaRoot()
	return q.limit, q.used, nil
}

// FailWrites lets the n-th following write (1 is the next) to a stored file end
// with err; n = 0 cancels.
func (f *FS) FailWrites(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failIn, f.failErr = n, err
}

func (f *FS) newNode(name string, mode fs.FileMode, cred Cred, parent *Node) *Node {
	f.nextIno++
	n := &Node{name: name, parent: parent,
		inode: &inode{mode: mode, uid: cred.UID, gid: parent.gid, mtime: f.now(), ino: f.nextIno, nlink: 1}}
	if parent.mode&fs.ModeSetgid == 0 {
		n.gid = cred.UID
		if len(cred.GIDs) > 0 {
			n.gid = cred.GIDs[0]
		}
	}
	parent.children[name] = n
	parent.mtime = n.mtime
	return n
}
