package unix

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

func ok(context.Context, *labsim.Proc) int   { return 0 }
func fail(context.Context, *labsim.Proc) int { return 1 }

// reason is the message of the C library for an error.
func reason(err error) string {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err.Error()
	}
	text := errno.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// inputs opens the named files, or standard input without names or for "-".
func inputs(p *labsim.Proc, names []string, use func(name string, r io.Reader)) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		if name == "-" {
			use("-", p.Stdin)
			continue
		}
		data, err := p.ReadFile(name)
		if err != nil {
			status = p.Fail(1, "%s: %s", name, reason(err))
			continue
		}
		use(name, strings.NewReader(string(data)))
	}
	return status
}

func cat(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false)
	if !good {
		return 2
	}
	return inputs(p, f.Args, func(_ string, r io.Reader) { _, _ = io.Copy(p.Stdout, r) })
}

func tee(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "a")
	if !good {
		return 2
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if f.Has("a") {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	data, _ := io.ReadAll(p.Stdin)
	_, _ = p.Stdout.Write(data)
	status := 0
	for _, name := range f.Args {
		h, err := p.Open(name, flag)
		if err == nil {
			// One write: a sysfs store needs the whole value with its newline.
			_, err = h.Write(data)
		}
		if err != nil {
			status = p.Fail(1, "%s: %s", name, reason(err))
		}
	}
	return status
}

func ls(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "1", "a", "A", "d", "l", "n")
	if !good {
		return 2
	}
	if len(f.Args) == 0 {
		f.Args = []string{"."}
	}
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), !f.Has("l"))
		if err != nil {
			status = p.Fail(2, "cannot access '%s': %s", name, reason(err))
			continue
		}
		if !info.IsDir() || f.Has("d") {
			printEntry(p, f, name, info)
			continue
		}
		entries, err := p.Machine.FS.ReadDir(p.Cred(), p.Abs(name))
		if err != nil {
			status = p.Fail(2, "cannot open directory '%s': %s", name, reason(err))
			continue
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") || f.Has("a") || f.Has("A") {
				printEntry(p, f, e.Name(), e)
			}
		}
	}
	return status
}

func printEntry(p *labsim.Proc, f *labsim.Flags, name string, e fs.FileInfo) {
	if f.Has("l") {
		uid, gid := owner(e)
		p.Printf("%s 1 %d %d %d %s ", modeText(e.Mode()), uid, gid, e.Size(), e.ModTime().UTC().Format("Jan _2 15:04"))
	}
	p.Printf("%s\n", name)
}

func mkdir(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "p", "m=")
	if !good {
		return 2
	}
	mode := 0o777 &^ p.Umask
	if f.Has("m") {
		v, err := strconv.ParseUint(f.Get("m"), 8, 16)
		if err != nil {
			return p.Unknown("mode " + f.Get("m"))
		}
		mode = fs.FileMode(v)
	}
	status := 0
	for _, name := range f.Args {
		err := makeDir(p, p.Abs(name), mode, f.Has("p"))
		if err != nil {
			status = p.Fail(1, "cannot create directory '%s': %s", name, reason(err))
		}
	}
	return status
}

func makeDir(p *labsim.Proc, name string, mode fs.FileMode, parents bool) error {
	if !parents {
		return p.Machine.FS.Mkdir(p.Cred(), name, mode)
	}
	if info, err := p.Machine.FS.Stat(p.Cred(), name, true); err == nil {
		if info.IsDir() {
			return nil
		}
		return syscall.EEXIST
	}
	// -m is for the last directory; those above get the default mode.
	if err := p.Machine.FS.MkdirAll(p.Cred(), path.Dir(name), 0o777&^p.Umask); err != nil {
		return err
	}
	return p.Machine.FS.Mkdir(p.Cred(), name, mode)
}

func rm(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "f", "r", "R")
	if !good {
		return 2
	}
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), false)
		switch {
		case err != nil && f.Has("f") && errors.Is(err, syscall.ENOENT):
			continue
		case err == nil && info.IsDir() && !f.Has("r") && !f.Has("R"):
			err = syscall.EISDIR
		case err == nil && info.IsDir():
			err = p.Machine.FS.RemoveAll(p.Cred(), p.Abs(name))
		case err == nil:
			err = p.Machine.FS.Remove(p.Cred(), p.Abs(name))
		}
		if err != nil {
			status = p.Fail(1, "cannot remove '%s': %s", name, reason(err))
		}
	}
	return status
}

// target is the file a copy or move to dest makes of src.
func target(p *labsim.Proc, src, dest string, noDir bool) string {
	if info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(dest), true); err == nil && info.IsDir() && !noDir {
		return path.Join(p.Abs(dest), path.Base(src))
	}
	return p.Abs(dest)
}

func mv(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "f", "T", "n")
	if !good || len(f.Args) < 2 {
		return 2
	}
	dest := f.Args[len(f.Args)-1]
	for _, src := range f.Args[:len(f.Args)-1] {
		to := target(p, src, dest, f.Has("T"))
		if f.Has("n") && p.Machine.FS.Exists(to) {
			continue
		}
		if err := p.Machine.FS.Rename(p.Cred(), p.Abs(src), to); err != nil {
			return p.Fail(1, "cannot move '%s' to '%s': %s", src, dest, reason(err))
		}
	}
	return 0
}

func cp(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "p", "a", "f", "T", "r", "R")
	if !good || len(f.Args) < 2 {
		return 2
	}
	dest := f.Args[len(f.Args)-1]
	for _, src := range f.Args[:len(f.Args)-1] {
		if err := copyTree(p, p.Abs(src), target(p, src, dest, f.Has("T")), f); err != nil {
			return p.Fail(1, "cannot copy '%s' to '%s': %s", src, dest, reason(err))
		}
	}
	return 0
}

func copyTree(p *labsim.Proc, src, dest string, f *labsim.Flags) error {
	vfs := p.Machine.FS
	info, err := vfs.Stat(p.Cred(), src, true)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if !f.Has("r") && !f.Has("R") && !f.Has("a") {
			return syscall.EISDIR
		}
		if err := vfs.MkdirAll(p.Cred(), dest, info.Mode().Perm()); err != nil {
			return err
		}
		entries, err := vfs.ReadDir(p.Cred(), src)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := copyTree(p, path.Join(src, e.Name()), path.Join(dest, e.Name()), f); err != nil {
				return err
			}
		}
		return nil
	}
	return copyFile(p, src, dest, info, f.Has("p") || f.Has("a"))
}

func copyFile(p *labsim.Proc, src, dest string, info fs.FileInfo, keep bool) error {
	data, err := p.ReadFile(src)
	if err != nil {
		return err
	}
	h, err := p.Machine.FS.Open(p.Cred(), dest, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()&^p.Umask)
	if err != nil {
		return err
	}
	if _, err := h.Write(data); err != nil {
		return err
	}
	if !keep {
		return nil
	}
	if err := p.Machine.FS.Chmod(p.Cred(), dest, info.Mode()); err != nil {
		return err
	}
	uid, gid := owner(info)
	if p.UID == 0 {
		if err := p.Machine.FS.Chown(p.Cred(), dest, uid, gid); err != nil {
			return err
		}
	}
	return p.Machine.FS.Chtimes(p.Cred(), dest, info.ModTime())
}

func ln(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "s", "f", "n", "T")
	if !good {
		return 2
	}
	if !f.Has("s") || len(f.Args) != 2 {
		return p.Unknown("ln other than ln -s TARGET NAME")
	}
	name := target(p, f.Args[0], f.Args[1], f.Has("n") || f.Has("T"))
	if f.Has("f") {
		_ = p.Machine.FS.Remove(p.Cred(), name)
	}
	if err := p.Machine.FS.Symlink(p.Cred(), f.Args[0], name); err != nil {
		return p.Fail(1, "failed to create symbolic link '%s': %s", f.Args[1], reason(err))
	}
	return 0
}

func touch(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "c")
	if !good {
		return 2
	}
	for _, name := range f.Args {
		if f.Has("c") && !p.Machine.FS.Exists(p.Abs(name)) {
			continue
		}
		if _, err := p.Open(name, os.O_WRONLY|os.O_CREATE); err != nil {
			return p.Fail(1, "cannot touch '%s': %s", name, reason(err))
		}
		_ = p.Machine.FS.Chtimes(p.Cred(), p.Abs(name), p.Machine.Lab.Clock.Now().Truncate(time.Microsecond))
	}
	return 0
}
