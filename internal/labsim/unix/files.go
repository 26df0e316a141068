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

func ok(context.Context, *labsim.Proc) int { return 0 }

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

func cat(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	return inputs(p, f.Args, func(_ string, r io.Reader) { _, _ = io.Copy(p.Stdout, r) })
}

func tee(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	data, _ := io.ReadAll(p.Stdin)
	_, _ = p.Stdout.Write(data)
	status := 0
	for _, name := range f.Args {
		// One write: a sysfs store needs the whole value with its newline.
		if err := p.WriteFile(name, data); err != nil {
			status = p.Fail(1, "%s: %s", name, reason(err))
		}
	}
	return status
}

func ls(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) == 0 {
		f.Args = []string{"."}
	}
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), true)
		if err != nil {
			status = p.Fail(2, "cannot access '%s': %s", name, reason(err))
			continue
		}
		if !info.IsDir() || f.Has("d") {
			p.Printf("%s\n", name)
			continue
		}
		entries, err := p.Machine.FS.ReadDir(p.Cred(), p.Abs(name))
		if err != nil {
			status = p.Fail(2, "cannot open directory '%s': %s", name, reason(err))
			continue
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") {
				p.Printf("%s\n", e.Name())
			}
		}
	}
	return status
}

func mkdir(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
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

func rm(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), false)
		switch {
		case err != nil && f.Has("f") && errors.Is(err, syscall.ENOENT):
			continue
		case err == nil && info.IsDir() && !f.Has("r"):
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

func rmdir(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	status := 0
	for _, name := range f.Args {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(name), false)
		switch {
		case err == nil && !info.IsDir():
			err = syscall.ENOTDIR
		case err == nil:
			err = p.Machine.FS.Remove(p.Cred(), p.Abs(name))
		}
		if err != nil {
			status = p.Fail(1, "failed to remove '%s': %s", name, reason(err))
		}
	}
	return status
}

// target is the file a copy or move to dest makes of src.
func target(p *labsim.Proc, src, dest string) string {
	if info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(dest), true); err == nil && info.IsDir() {
		return path.Join(p.Abs(dest), path.Base(src))
	}
	return p.Abs(dest)
}

func mv(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) < 2 {
		return p.Unknown("mv operands")
	}
	dest := f.Args[len(f.Args)-1]
	for _, src := range f.Args[:len(f.Args)-1] {
		to := target(p, src, dest)
		if f.Has("T") { // the destination is the new name, also where a directory has it
			to = p.Abs(dest)
		}
		if err := p.Machine.FS.Rename(p.Cred(), p.Abs(src), to); err != nil {
			return p.Fail(1, "cannot move '%s' to '%s': %s", src, dest, reason(err))
		}
	}
	return 0
}

func cp(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) != 2 {
		return p.Unknown("cp operands")
	}
	if err := copyFile(p, p.Abs(f.Args[0]), target(p, f.Args[0], f.Args[1]), f.Has("p")); err != nil {
		return p.Fail(1, "cannot copy '%s' to '%s': %s", f.Args[0], f.Args[1], reason(err))
	}
	return 0
}

func copyFile(p *labsim.Proc, src, dest string, keep bool) error {
	info, err := p.Machine.FS.Stat(p.Cred(), src, true)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
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
	if p.UID == 0 {
		if err := p.Machine.FS.Chown(p.Cred(), dest, info.UID, info.GID); err != nil {
			return err
		}
	}
	return p.Machine.FS.Chtimes(p.Cred(), dest, info.ModTime())
}

func ln(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) != 2 {
		return p.Unknown("ln other than ln [-s] TARGET NAME")
	}
	name := target(p, f.Args[0], f.Args[1])
	if f.Has("f") {
		_ = p.Machine.FS.Remove(p.Cred(), name)
	}
	if !f.Has("s") {
		if err := p.Machine.FS.Link(p.Cred(), p.Abs(f.Args[0]), name); err != nil {
			return p.Fail(1, "failed to create hard link '%s' => '%s': %s", f.Args[1], f.Args[0], reason(err))
		}
		return 0
	}
	if err := p.Machine.FS.Symlink(p.Cred(), f.Args[0], name); err != nil {
		return p.Fail(1, "failed to create symbolic link '%s': %s", f.Args[1], reason(err))
	}
	return 0
}

func touch(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	for _, name := range f.Args {
		if _, err := p.Open(name, os.O_WRONLY|os.O_CREATE); err != nil {
			return p.Fail(1, "cannot touch '%s': %s", name, reason(err))
		}
		_ = p.Machine.FS.Chtimes(p.Cred(), p.Abs(name), p.Machine.Lab.Clock.Now().Truncate(time.Microsecond))
	}
	return 0
}
