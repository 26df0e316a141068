package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

func newFS() *FS {
	f := New(time.Now)
	f.PutDir("/tmp", fs.ModeSticky|0o777, 0, 0)
	f.PutDir("/home/ops", 0o750, 1000, 1000)
	f.PutDevices()
	return f
}

var ops = Cred{UID: 1000, GIDs: []int{1000}}

func wantErrno(t *testing.T, what string, err error, want syscall.Errno) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestFS_permissionsAreChecked(t *testing.T) {
	f := newFS()
	f.Put("/etc/secret", "x", 0o600)
	_, err := f.Open(ops, "/etc/secret", os.O_RDONLY, 0)
	wantErrno(t, "read", err, syscall.EACCES)
	_, err = f.Open(ops, "/etc/new", os.O_WRONLY|os.O_CREATE, 0o644)
	wantErrno(t, "create in /etc", err, syscall.EACCES)
	if _, err = f.Open(ops, "/tmp/a", os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
		t.Fatal(err)
	}
	wantErrno(t, "remove from sticky", f.Remove(Cred{UID: 1001}, "/tmp/a"), syscall.EPERM)
	wantErrno(t, "chown", f.Chown(ops, "/tmp/a", 0, 0), syscall.EPERM)
	_, err = f.ReadDir(Cred{UID: 1001}, "/home/ops")
	wantErrno(t, "foreign home", err, syscall.EACCES)
}

func TestFS_linksAndRename(t *testing.T) {
	f := newFS()
	f.Put("/a/b/file", "one", 0o644)
	f.PutLink("../a/b", "/l/dir")
	if p, err := f.RealPath(Root, "/l/dir/file"); err != nil || p != "/a/b/file" {
		t.Errorf("real path %q, %v", p, err)
	}
	f.PutLink("loop", "/l/loop")
	_, err := f.Stat(Root, "/l/loop", true)
	wantErrno(t, "loop", err, syscall.ELOOP)
	f.Put("/a/b/other", "two", 0o644)
	if err := f.Rename(Root, "/a/b/other", "/l/dir/file"); err != nil {
		t.Fatal(err)
	}
	if b, err := f.ReadFile("/a/b/file"); err != nil || string(b) != "two" {
		t.Errorf("after rename: %q, %v", b, err)
	}
	wantErrno(t, "full directory", f.Remove(Root, "/a/b"), syscall.ENOTEMPTY)
}

func TestFS_quotaAndReadOnly(t *testing.T) {
	f := newFS()
	if err := f.SetQuota("/home", 10); err != nil {
		t.Fatal(err)
	}
	h, err := f.Open(ops, "/home/ops/x", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = h.Write(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_, err = h.Write([]byte{1})
	wantErrno(t, "over the quota", err, syscall.ENOSPC)
	if err := f.Remove(ops, "/home/ops/x"); err != nil {
		t.Fatal(err)
	}
	if limit, used, err := f.Space("/home/ops"); err != nil || limit != 10 || used != 0 {
		t.Errorf("space %d %d %v", limit, used, err)
	}
	f.SetReadOnly("/usr", true)
	f.PutDir("/usr/bin", 0o755, 0, 0)
	wantErrno(t, "read-only", f.Mkdir(Root, "/usr/bin/x", 0o755), syscall.EROFS)
	f.FailWrites(2, syscall.EIO)
	if err := f.WriteFile("/tmp/1", []byte("a"), 0o600); err != nil {
		t.Error(err)
	}
	wantErrno(t, "second write", f.WriteFile("/tmp/2", []byte("a"), 0o600), syscall.EIO)
}

func TestFS_hardLinks(t *testing.T) {
	f := newFS()
	f.Put("/d/file", "one", 0o644)
	if err := f.SetQuota("/d", 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Link(Root, "/d/file", "/d/second"); err != nil {
		t.Fatalf("a link takes no space: %v", err)
	}
	wantErrno(t, "name taken", f.Link(Root, "/d/file", "/d/second"), syscall.EEXIST)
	wantErrno(t, "directory", f.Link(Root, "/d", "/e"), syscall.EPERM)
	h, err := f.Open(Root, "/d/file", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(Root, "/d/file"); err != nil {
		t.Fatal(err)
	}
	if b, err := f.ReadFile("/d/second"); err != nil || string(b) != "two" {
		t.Errorf("the second name has %q, %v", b, err)
	}
	if info, err := f.Stat(Root, "/d/second", false); err != nil || info.Nlink != 1 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, used, err := f.Space("/d"); err != nil || used != 3 {
		t.Errorf("%d bytes used, %v", used, err)
	}
}

func TestFS_computedFiles(t *testing.T) {
	f := newFS()
	value := "a\n"
	f.PutDynamic("/sys/x", 0o644, func() (string, error) { return value, nil }, func(s string) error {
		if s != "b\n" {
			return syscall.EINVAL
		}
		value = s
		return nil
	})
	wantErrno(t, "without newline", f.WriteFile("/sys/x", []byte("b"), 0), syscall.EINVAL)
	if err := f.WriteFile("/sys/x", []byte("b\n"), 0); err != nil {
		t.Fatal(err)
	}
	h, err := f.Open(Root, "/sys/x", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(h)
	if err != nil || string(b) != "b\n" {
		t.Errorf("%q, %v", b, err)
	}
	_, err = f.Open(ops, "/sys/x", os.O_WRONLY, 0)
	wantErrno(t, "user write", err, syscall.EACCES)
}
