package vfs

import (
	"io/fs"
	"path"
	"syscall"
	"time"
)

// Stat describes name, following a final link if follow is set.
func (f *FS) Stat(cred Cred, name string, follow bool) (Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, follow, cred)
	if err != nil {
		return Info{}, pathErr("stat", name, err)
	}
	info := n.info()
	info.FileName = path.Base(name)
	return info, nil
}

// Access checks the rwx bits (4, 2, 1) of name for cred.
func (f *FS) Access(cred Cred, name string, want fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, true, cred)
	if err != nil {
		return pathErr("access", name, err)
	}
	if want&2 != 0 && f.isReadOnly(n.path()) {
		return pathErr("access", name, syscall.EROFS)
	}
	if !isAllowed(n, cred, want) {
		return pathErr("access", name, syscall.EACCES)
	}
	return nil
}

// RealPath resolves every link of name.
func (f *FS) RealPath(cred Cred, name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, true, cred)
	if err != nil {
		return "", pathErr("readlink", name, err)
	}
	return n.path(), nil
}

// ReadDir lists a directory in name order.
func (f *FS) ReadDir(cred Cred, name string) ([]Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, true, cred)
	if err != nil {
		return nil, pathErr("open", name, err)
	}
	if !n.isDir() {
		return nil, pathErr("readdirent", name, syscall.ENOTDIR)
	}
	if !isAllowed(n, cred, 4) {
		return nil, pathErr("open", name, syscall.EACCES)
	}
	names := n.names()
	infos := make([]Info, 0, len(names))
	for _, c := range names {
		if child := n.child(c); child != nil {
			infos = append(infos, child.info())
		}
	}
	return infos, nil
}

// Readlink returns the target of a link.
func (f *FS) Readlink(cred Cred, name string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, false, cred)
	if err != nil {
		return "", pathErr("readlink", name, err)
	}
	if !n.isSymlink() {
		return "", pathErr("readlink", name, syscall.EINVAL)
	}
	return n.target, nil
}

// Mkdir makes one directory.
func (f *FS) Mkdir(cred Cred, name string, perm fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathErr("mkdir", name, f.mkdir(cred, name, perm))
}

func (f *FS) mkdir(cred Cred, name string, perm fs.FileMode) error {
	dir, base, err := f.parentOf(name, cred)
	if err != nil {
		return err
	}
	if base == "" || dir.child(base) != nil {
		return syscall.EEXIST
	}
	if err := f.mayChange(dir, cred); err != nil {
		return err
	}
	n := f.newNode(base, fs.ModeDir|perm&(fs.ModePerm|fs.ModeSticky|fs.ModeSetgid), cred, dir)
	n.children, n.nlink = map[string]*Node{}, 2
	return nil
}

// MkdirAll makes a directory and what is missing above it.
func (f *FS) MkdirAll(cred Cred, name string, perm fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathErr("mkdir", name, f.mkdirAll(cred, path.Clean("/"+name), perm))
}

func (f *FS) mkdirAll(cred Cred, name string, perm fs.FileMode) error {
	n, err := f.walk(name, true, cred)
	if err == nil {
		if !n.isDir() {
			return syscall.ENOTDIR
		}
		return nil
	}
	if up := path.Dir(name); up != name {
		if err := f.mkdirAll(cred, up, perm); err != nil {
			return err
		}
	}
	return f.mkdir(cred, name, perm)
}

// Symlink makes a link at name that points to target.
func (f *FS) Symlink(cred Cred, target, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, base, err := f.parentOf(name, cred)
	if err == nil && dir.child(base) != nil {
		err = syscall.EEXIST
	}
	if err == nil {
		err = f.mayChange(dir, cred)
	}
	if err != nil {
		return pathErr("symlink", name, err)
	}
	f.newNode(base, fs.ModeSymlink|0o777, cred, dir).target = target
	return nil
}

// Link gives a file or a symbolic link another name, as link(2) does: it takes no space.
func (f *FS) Link(cred Cred, old, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathErr("link", name, f.link(cred, old, name))
}

func (f *FS) link(cred Cred, old, name string) error {
	_, n, err := f.entry(cred, old)
	if err != nil {
		return err
	}
	dir, base, err := f.parentOf(name, cred)
	switch {
	case err != nil:
		return err
	case dir.child(base) != nil:
		return syscall.EEXIST
	case n.isDir() || n.ino == 0: // a computed file has no disk
		return syscall.EPERM
	}
	if err := f.mayChange(dir, cred); err != nil {
		return err
	}
	dir.children[base] = &Node{name: base, parent: dir, inode: n.inode}
	n.nlink++
	n.ctime, dir.mtime = f.now(), f.now()
	return nil
}

// Remove deletes a file, a link or an empty directory.
func (f *FS) Remove(cred Cred, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, n, err := f.entry(cred, name)
	if err == nil && n.isDir() && len(n.names()) > 0 {
		err = syscall.ENOTEMPTY
	}
	if err == nil {
		err = f.mayDelete(dir, n, cred)
	}
	if err != nil {
		return pathErr("remove", name, err)
	}
	f.unlink(dir, n)
	return nil
}

func (f *FS) entry(cred Cred, name string) (dir, n *Node, err error) {
	dir, base, err := f.parentOf(name, cred)
	if err != nil {
		return nil, nil, err
	}
	if n = dir.child(base); n == nil {
		return nil, nil, syscall.ENOENT
	}
	return dir, n, nil
}

func (f *FS) unlink(dir, n *Node) {
	if q := n.quotaRoot(); q != nil && (n.isDir() || n.nlink == 1) {
		q.used -= usage(n)
	}
	delete(dir.children, n.name)
	dir.mtime = f.now()
	n.nlink--
}

// RemoveAll deletes a tree; a missing one is no error.
func (f *FS) RemoveAll(cred Cred, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, n, err := f.entry(cred, name)
	if err != nil {
		return nil // rm -f: what is not there need not be removed
	}
	if err := f.mayDelete(dir, n, cred); err != nil {
		return pathErr("remove", name, err)
	}
	f.unlink(dir, n)
	return nil
}

// Rename moves a node, replacing a file or an empty directory in the way.
func (f *FS) Rename(cred Cred, from, to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pathErr("rename", from, f.rename(cred, from, to))
}

func (f *FS) rename(cred Cred, from, to string) error {
	dir, n, err := f.entry(cred, from)
	if err != nil {
		return err
	}
	if err = f.mayDelete(dir, n, cred); err != nil {
		return err
	}
	toDir, base, err := f.parentOf(to, cred)
	if err != nil {
		return err
	}
	if err := f.mayChange(toDir, cred); err != nil {
		return err
	}
	if old := toDir.child(base); old != nil && old != n {
		switch {
		case old.isDir() && !n.isDir():
			return syscall.EISDIR
		case old.isDir() && len(old.names()) > 0:
			return syscall.ENOTEMPTY
		}
		f.unlink(toDir, old)
	}
	delete(dir.children, n.name)
	n.name, n.parent, n.ctime = base, toDir, f.now()
	toDir.children[base] = n
	dir.mtime, toDir.mtime = f.now(), f.now()
	return nil
}

// Chmod sets the permission bits.
func (f *FS) Chmod(cred Cred, name string, mode fs.FileMode) error {
	return f.change(cred, "chmod", name, func(n *Node) error {
		if cred.UID != 0 && cred.UID != n.uid {
			return syscall.EPERM
		}
		keep := n.mode &^ (fs.ModePerm | fs.ModeSticky | fs.ModeSetgid | fs.ModeSetuid)
		n.mode = keep | mode&(fs.ModePerm|fs.ModeSticky|fs.ModeSetgid|fs.ModeSetuid)
		return nil
	})
}

// Chown sets owner and group; -1 keeps one.
func (f *FS) Chown(cred Cred, name string, uid, gid int) error {
	return f.change(cred, "chown", name, func(n *Node) error {
		if cred.UID != 0 && (uid != -1 && uid != n.uid || cred.UID != n.uid) {
			return syscall.EPERM
		}
		if uid != -1 {
			n.uid = uid
		}
		if gid != -1 {
			n.gid = gid
		}
		return nil
	})
}

// Chtimes sets the time of the last change of the content. As on Linux, that of the node is now.
func (f *FS) Chtimes(cred Cred, name string, mtime time.Time) error {
	return f.change(cred, "utimes", name, func(n *Node) error {
		if cred.UID != 0 && cred.UID != n.uid {
			return syscall.EPERM
		}
		n.mtime, n.ctime = mtime, f.now()
		return nil
	})
}

func (f *FS) change(cred Cred, op, name string, do func(*Node) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.walk(name, true, cred)
	if err == nil && f.isReadOnly(n.path()) {
		err = syscall.EROFS
	}
	if err == nil {
		err = do(n)
	}
	return pathErr(op, name, err)
}
