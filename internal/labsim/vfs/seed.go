package vfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// The functions of this file are for whoever builds a host: they act as root,
// ignore read-only areas and quotas' refusals, and make parent directories.

func (f *FS) seed(name string, mode fs.FileMode) *Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	saved := f.readOnly
	f.readOnly = nil
	defer func() { f.readOnly = saved }()
	name = path.Clean("/" + name)
	if err := f.mkdirAll(Root, path.Dir(name), 0o755); err != nil {
		panic("vfs: cannot make the directory of " + name + ": " + err.Error())
	}
	dir, base, err := f.parentOf(name, Root)
	if err != nil {
		panic("vfs: cannot seed " + name + ": " + err.Error())
	}
	if old := dir.children[base]; old != nil && !old.isDir() {
		f.unlink(dir, old)
	}
	if old := dir.children[base]; old != nil {
		return old
	}
	return f.newNode(base, mode, Root, dir)
}

// Put stores a file with a mode, replacing one that is there.
func (f *FS) Put(name, content string, mode fs.FileMode) {
	n := f.seed(name, mode.Perm())
	f.mu.Lock()
	defer f.mu.Unlock()
	n.data = []byte(content)
	if q := n.quotaRoot(); q != nil {
		q.used += int64(len(content))
	}
}

// PutDir makes a directory with an owner, or changes mode and owner of one.
func (f *FS) PutDir(name string, mode fs.FileMode, uid, gid int) {
	n := f.seed(name, fs.ModeDir|mode)
	f.mu.Lock()
	defer f.mu.Unlock()
	if n.children == nil {
		n.children = map[string]*Node{}
	}
	n.mode, n.uid, n.gid = fs.ModeDir|mode, uid, gid
}

// PutLink makes a symbolic link, replacing one that is there.
func (f *FS) PutLink(target, name string) {
	n := f.seed(name, fs.ModeSymlink|0o777)
	f.mu.Lock()
	defer f.mu.Unlock()
	n.target = target
}

// PutDynamic makes a computed file. A nil read makes it write-only, a nil write
// read-only, whatever the mode says.
func (f *FS) PutDynamic(name string, mode fs.FileMode, read ReadFunc, write WriteFunc) {
	n := f.seed(name, mode.Perm())
	f.mu.Lock()
	defer f.mu.Unlock()
	n.read, n.write = read, write
}

// PutDynamicDir makes a directory with computed entries.
func (f *FS) PutDynamicDir(name string, d *Dynamic) {
	f.PutDir(name, 0o555, 0, 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, err := f.walk(name, true, Root); err == nil {
		n.dynamic = d
	}
}

// PutProgram makes an executable file that carries a value, which Stat returns
// in Info.Attached.
func (f *FS) PutProgram(name string, program any) {
	n := f.seed(name, 0o755)
	f.mu.Lock()
	defer f.mu.Unlock()
	n.attach, n.data = program, []byte("\x7fELF simulated program "+name+"\n")
}

// PutDevices makes /dev/null, /dev/zero and /dev/urandom.
func (f *FS) PutDevices() {
	for name, kind := range map[string]deviceKind{"null": devNull, "zero": devZero, "urandom": devRandom,
		"random": devRandom} {
		n := f.seed("/dev/"+name, fs.ModeDevice|fs.ModeCharDevice|0o666)
		n.device = kind
		n.mode = fs.ModeDevice | fs.ModeCharDevice | 0o666
	}
}

// Drop removes a tree, read-only or not.
func (f *FS) Drop(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if dir, n, err := f.entry(Root, name); err == nil {
		f.unlink(dir, n)
	}
}

// ReadFile returns the whole content as root.
func (f *FS) ReadFile(name string) ([]byte, error) {
	h, err := f.Open(Root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(h)
}

// Text is the content of a file as root, nothing of one that cannot be read.
func (f *FS) Text(name string) string {
	data, _ := f.ReadFile(name)
	return string(data)
}

// Glob lists what the last element of a pattern matches, in name order, as root.
func (f *FS) Glob(pattern string) []string {
	dir, last := path.Split(pattern)
	infos, _ := f.ReadDir(Root, dir)
	var names []string
	for _, i := range infos {
		hidden := strings.HasPrefix(i.Name(), ".") && !strings.HasPrefix(last, ".") // as glob(3) passes them over
		if ok, err := path.Match(last, i.Name()); ok && err == nil && !hidden {
			names = append(names, dir+i.Name())
		}
	}
	return names
}

// Overlay lists what the patterns match by base name: of files of one name, that of
// the last pattern counts.
func (f *FS) Overlay(patterns ...string) []string {
	files := map[string]string{}
	for _, pattern := range patterns {
		for _, name := range f.Glob(pattern) {
			files[path.Base(name)] = name
		}
	}
	names := slices.Sorted(maps.Keys(files))
	for i, n := range names {
		names[i] = files[n]
	}
	return names
}

// WriteFile replaces the content as root, with the rules of a running host.
func (f *FS) WriteFile(name string, data []byte, perm fs.FileMode) error {
	h, err := f.Open(Root, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = h.Write(data)
	return err
}

// Exists says whether name is there, links followed.
func (f *FS) Exists(name string) bool {
	_, err := f.Stat(Root, name, true)
	return err == nil
}
