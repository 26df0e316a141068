package shell

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// intercepted are builtins that the interpreter lacks or answers from the real
// system; they are run by internal programs instead.
var intercepted = map[string]bool{"umask": true, "kill": true, "hash": true, "ulimit": true, "type": true}

const internalPrefix = "labsim-builtin-"

// call renames intercepted builtins before the interpreter sees them.
func (s *session) call(ctx context.Context, args []string) ([]string, error) {
	switch {
	case args[0] == "echo" || args[0] == "printf":
		// The interpreter writes piecemeal and drops errors; a store to a kernel
		// file is one write, and its error is the builtin's.
		if h, ok := interp.HandlerCtx(ctx).Stdout.(*vfs.File); ok && h.Computed() {
			return append([]string{internalPrefix + args[0]}, args[1:]...), nil
		}
	case intercepted[args[0]]:
		return append([]string{internalPrefix + args[0]}, args[1:]...), nil
	case args[0] == "command" && len(args) > 1 && (args[1] == "-v" || args[1] == "-V"):
		return append([]string{internalPrefix + "command"}, args[1:]...), nil
	case args[0] == "[" || args[0] == "test":
		return s.comparison(ctx, args), nil
	case args[0] == "trap":
		return s.trap(args), nil
	}
	return args, nil
}

// comparison answers [ A = B ] and [ A != B ]. By POSIX, three arguments with such an
// operator in the middle are a comparison, whatever they look like; the interpreter
// takes an A like -k for an operator. It answers [ A -ef B ] as well: the interpreter knows
// only files of the real machine again.
func (s *session) comparison(ctx context.Context, args []string) []string {
	operands := args[1:]
	if n := len(operands); args[0] == "[" && n > 0 && operands[n-1] == "]" {
		operands = operands[:n-1]
	}
	if len(operands) != 3 {
		return args
	}
	switch a, b := operands[0], operands[2]; operands[1] {
	case "=", "!=":
		return []string{strconv.FormatBool((a == b) == (operands[1] == "="))}
	case "-ef":
		cred, files := s.proc.Cred(), s.proc.Machine.FS
		one, errOne := files.Stat(cred, abs(ctx, a), true)
		two, errTwo := files.Stat(cred, abs(ctx, b), true)
		return []string{strconv.FormatBool(errOne == nil && errTwo == nil && one.Ino == two.Ino)}
	}
	return args
}

// trap keeps EXIT traps for the interpreter; a signal that is ignored is ignored
// by the process.
func (s *session) trap(args []string) []string {
	if len(args) < 3 {
		return args
	}
	kept := args[:2:2]
	for _, name := range args[2:] {
		sig, ok := signals[strings.TrimPrefix(name, "SIG")]
		switch {
		case !ok:
			kept = append(kept, name)
		case args[1] == "":
			s.proc.Ignore(sig)
		}
	}
	if len(kept) == 2 {
		return []string{"true"}
	}
	return kept
}

var signals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "1": syscall.SIGHUP, "INT": syscall.SIGINT, "2": syscall.SIGINT,
	"TERM": syscall.SIGTERM, "15": syscall.SIGTERM, "PIPE": syscall.SIGPIPE, "13": syscall.SIGPIPE,
	"QUIT": syscall.SIGQUIT, "3": syscall.SIGQUIT,
}

func (s *session) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	child := s.proc.Child(args...)
	child.Dir, child.Env = hc.Dir, exportedVariables(hc.Env)
	child.Stdout, child.Stderr = hc.Stdout, hc.Stderr
	child.Stdin = strings.NewReader("")
	if hc.Stdin != nil {
		child.Stdin = hc.Stdin
	}
	var status int
	if name, ok := strings.CutPrefix(args[0], internalPrefix); ok {
		status = s.builtin(child, name, args[1:])
	} else {
		status = s.proc.Machine.Exec(ctx, child)
	}
	if status != 0 {
		return interp.ExitStatus(status & 0xff)
	}
	return nil
}

func exportedVariables(env expand.Environ) map[string]string {
	out := map[string]string{}
	env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.IsSet() && !strings.HasPrefix(name, "LABSIM_") && name != "UID" && name != "EUID" {
			out[name] = v.String()
		}
		return true
	})
	return out
}

func (s *session) builtin(p *labsim.Proc, name string, args []string) int {
	switch name {
	case "umask":
		return s.umask(p, args)
	case "echo", "printf":
		return s.store(p, name, args)
	case "hash":
		return 0
	case "ulimit":
		return ulimit(p, args)
	case "command", "type":
		return s.locate(p, name, args)
	}
	// kill and what else is a program too.
	p.Args = append([]string{"/bin/" + name}, args...)
	return p.Machine.Exec(context.Background(), p)
}

// store writes to a kernel file at once and reports the error as the shell does:
// dash hides the reason.
func (s *session) store(p *labsim.Proc, name string, args []string) int {
	text := strings.Join(args, " ") + "\n"
	if name == "printf" {
		if len(args) == 0 {
			return p.Unknown("printf without a format")
		}
		formatted, _, err := expand.Format(nil, args[0], args[1:])
		if err != nil {
			return p.Unknown("printf " + args[0])
		}
		text = formatted
	}
	if _, err := io.WriteString(p.Stdout, text); err != nil {
		reason := "I/O error"
		if path.Base(s.proc.Args[0]) == "bash" {
			reason = "write error: " + capital(errno(err).Error())
		} else {
			name = "1: " + name + ": " + name
		}
		p.Errorf("%s: %s: %s\n", path.Base(s.proc.Args[0]), name, reason)
		return 1
	}
	return 0
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (s *session) umask(p *labsim.Proc, args []string) int {
	if len(args) == 0 {
		p.Printf("%04o\n", s.proc.Umask)
		return 0
	}
	mask, err := strconv.ParseUint(args[0], 8, 16)
	if err != nil {
		return p.Unknown("umask " + args[0])
	}
	s.proc.SetUmask(fs.FileMode(mask) & fs.ModePerm)
	return 0
}

// locate is command -v and type.
func (s *session) locate(p *labsim.Proc, name string, args []string) int {
	if name == "command" {
		args = args[1:]
	}
	status := 0
	for _, a := range args {
		if interp.IsBuiltin(a) && !strings.Contains(a, "/") {
			p.Printf("%s\n", a)
			continue
		}
		file, _, bad := p.Machine.LookPath(p.Cred(), p.Dir, p.Env["PATH"], a)
		if bad != 0 {
			status = 127
			continue
		}
		p.Printf("%s\n", file)
	}
	return status
}

func abs(ctx context.Context, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return path.Join(interp.HandlerCtx(ctx).Dir, name)
}

func (s *session) open(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	h, err := s.proc.Machine.FS.Open(s.proc.Cred(), abs(ctx, name), flag, perm&^s.proc.Umask)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errno(err)}
	}
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return h, nil
	}
	// The interpreter closes what it gets here, and not the pipe that it would
	// make of anything but a file.
	return pipeOf(h)
}

func errno(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (s *session) stat(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	info, err := s.proc.Machine.FS.Stat(s.proc.Cred(), abs(ctx, name), follow)
	if err != nil {
		return nil, err
	}
	return info, nil
}

func (s *session) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	infos, err := s.proc.Machine.FS.ReadDir(s.proc.Cred(), abs(ctx, name))
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, nil
}

func (s *session) access(ctx context.Context, name string, mode interp.AccessMode) error {
	return s.proc.Machine.FS.Access(s.proc.Cred(), abs(ctx, name), fs.FileMode(mode))
}

// ulimit knows the question for the soft limit of locked memory, and settings that change nothing.
// Since Linux 5.16 the limit is 8 MiB.
func ulimit(p *labsim.Proc, args []string) int {
	if len(args) == 1 && args[0] == "-l" {
		p.Printf("%s\n", cmp.Or(p.Machine.Memlock, "8192"))
	}
	return 0
}
