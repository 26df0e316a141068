// Package shell gives a simulated host its shells: scripts are run by a real
// shell interpreter over the host's virtual files and simulated programs, so that
// quoting, globs, here-documents and truncation are those of a shell.
//
// It must never look at the real file system or start a real program.
package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Install puts the shells into a machine.
func Install(m *labsim.Machine) {
	for _, name := range []string{"sh", "dash", "bash"} {
		m.Install("/usr/bin/"+name, Program)
	}
}

// invocation is how a shell was called.
type invocation struct {
	command *string
	stdin   bool
	file    string
	name    string
	params  []string
	options []string
}

// parseArgs knows sh [-eufx] [-o opt] (-c command [name [arg...]] | -s [arg...] | file [arg...]).
func parseArgs(args []string) (inv invocation, unknown string) {
	inv.name = args[0]
	rest := args[1:]
	wantCommand := false
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") && rest[0] != "-" {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			break
		}
		if arg == "-o" && len(rest) > 0 {
			inv.options, rest = append(inv.options, "-o", rest[0]), rest[1:]
			continue
		}
		for _, letter := range arg[1:] {
			switch letter {
			case 'c':
				wantCommand = true
			case 's':
				inv.stdin = true
			case 'e', 'u', 'f', 'x':
				inv.options = append(inv.options, "-"+string(letter))
			case 'l':
			default:
				return inv, "option -" + string(letter)
			}
		}
	}
	switch {
	case wantCommand && len(rest) == 0:
		return inv, "-c without a command"
	case wantCommand:
		inv.command, rest = &rest[0], rest[1:]
		if len(rest) > 0 {
			inv.name, rest = rest[0], rest[1:]
		}
	case !inv.stdin && len(rest) > 0:
		inv.file, inv.name, rest = rest[0], rest[0], rest[1:]
	}
	inv.params = rest
	return inv, ""
}

// Program is /bin/sh.
func Program(ctx context.Context, p *labsim.Proc) int {
	inv, unknown := parseArgs(p.Args)
	if unknown != "" {
		return p.Unknown(unknown)
	}
	var script []byte
	var err error
	stdin := p.Stdin
	switch {
	case inv.command != nil:
		script = []byte(*inv.command)
	case inv.file != "":
		if script, err = p.ReadFile(inv.file); err != nil {
			return p.Fail(2, "0: cannot open %s: No such file", inv.file)
		}
	default:
		// A script on standard input ends where the input ends: a cut connection
		// leaves its complete statements, as with a real shell.
		script, _ = io.ReadAll(stdin)
		stdin = nil
	}
	return Run(ctx, p, inv.name, string(script), stdin, inv.options, inv.params)
}

// session is the state of one running shell.
type session struct {
	proc *labsim.Proc
}

// Run interprets a script as the process p and returns its status.
func Run(ctx context.Context, p *labsim.Proc, name, script string, stdin io.Reader, options, params []string) int {
	s := &session{proc: p}
	env := make([]string, 0, len(p.Env)+4)
	for k, v := range p.Env {
		env = append(env, k+"="+v)
	}
	env = append(env, "UID="+strconv.Itoa(p.UID), "EUID="+strconv.Itoa(p.UID), "LABSIM_PID="+strconv.Itoa(p.PID),
		"LABSIM_PPID="+strconv.Itoa(p.PPID))
	input, closeInput, err := pipe(stdin)
	if err != nil {
		return p.Fail(2, "cannot start: %v", err)
	}
	defer closeInput()
	runner, err := interp.New(
		interp.Env(expand.ListEnviron(env...)),
		interp.StdIO(input, p.Stdout, p.Stderr),
		interp.Params(append(append(append([]string{}, options...), "--"), params...)...),
		interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(s.open),
		interp.StatHandler(s.stat),
		interp.ReadDirHandler2(s.readDir),
		interp.AccessHandler(s.access),
		withDir(p.Dir),
	)
	if err != nil {
		return p.Fail(2, "cannot start: %v", err)
	}
	return s.interpret(ctx, runner, name, script)
}

// pipe is pipeOf for the standard input of a script, which may have none.
func pipe(r io.Reader) (io.Reader, func(), error) {
	if r == nil {
		return nil, func() {}, nil
	}
	f, err := pipeOf(io.NopCloser(r))
	if err != nil {
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

// pipeOf makes a file of a reader, which is what the interpreter wants. Left to
// itself it makes one and never closes it, and a lab runs many thousand scripts.
func pipeOf(r io.ReadCloser) (*os.File, error) {
	reading, writing, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		// It ends with an error when the script ends before its input.
		_, _ = io.Copy(writing, r)
		_ = writing.Close()
		_ = r.Close()
	}()
	return reading, nil
}

// withDir sets the directory without asking the real file system for it.
func withDir(dir string) interp.RunnerOption {
	return func(r *interp.Runner) error {
		r.Dir = dir
		return nil
	}
}

// interpret runs statement by statement, so that what precedes a syntax error or
// the end of a truncated script has run.
func (s *session) interpret(ctx context.Context, runner *interp.Runner, name, script string) int {
	read := parse(script)
	if err := read.bashism; err != nil && path.Base(s.proc.Args[0]) != "bash" {
		s.proc.Machine.Violate("sh: not POSIX: %v", err)
		s.proc.Errorf("%s: %v\n", path.Base(name), err)
		return 2
	}
	var last error
	for _, st := range read.stmts {
		last = runner.Run(ctx, st)
		if ctx.Err() != nil || runner.Exited() || fatal(last) {
			break
		}
	}
	if status := labsim.SignalStatus(ctx); status != 0 {
		return status
	}
	if ctx.Err() == nil && !runner.Exited() && !fatal(last) && read.broken != nil {
		s.proc.Errorf("%s: %v\n", path.Base(name), read.broken)
		s.trapExit(ctx, runner)
		return 2
	}
	if fatal(last) {
		s.proc.Machine.Violate("shell: %v", last)
		s.proc.Errorf("%s: %v\n", path.Base(name), last)
		return 2
	}
	status := statusOf(last)
	s.trapExit(ctx, runner)
	return status
}

// parsed is a script that was read. It is shared by all that run it.
type parsed struct {
	stmts   []*syntax.Stmt // those before the syntax error, if there is one
	broken  error
	bashism error
}

// scripts are those that were read last. Hosts run the same few ones again and again, and
// reading one takes as long as running it.
var scripts struct {
	sync.Mutex
	read map[string]*parsed
}

const scriptsKept = 128

func parse(script string) *parsed {
	scripts.Lock()
	p := scripts.read[script]
	scripts.Unlock()
	if p != nil {
		return p
	}
	p = &parsed{bashism: bashism(script)}
	// The interpreter knows export, readonly and local only in the bash dialect.
	for st, err := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(script)) {
		if err != nil {
			p.broken = err
			break
		}
		rewritePID(st)
		p.stmts = append(p.stmts, st)
	}
	scripts.Lock()
	defer scripts.Unlock()
	if len(scripts.read) >= scriptsKept || scripts.read == nil {
		scripts.read = map[string]*parsed{}
	}
	scripts.read[script] = p
	return p
}

// bashism returns the syntax error that only a POSIX shell sees in a script.
func bashism(script string) error {
	_, posix := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), "")
	if posix == nil {
		return nil
	}
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), ""); err != nil {
		return nil //nolint:nilerr // broken in both: the statements before the error still run
	}
	return posix
}

// trapExit runs an EXIT trap: the interpreter runs it at the end of a whole file.
func (s *session) trapExit(ctx context.Context, runner *interp.Runner) {
	if !runner.Exited() {
		_ = runner.Run(ctx, &syntax.File{})
	}
}

func statusOf(err error) int {
	var status interp.ExitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	return 0
}

// fatal says whether err is more than an exit status: something the interpreter
// cannot do.
func fatal(err error) bool {
	var status interp.ExitStatus
	return err != nil && !errors.As(err, &status) && !errors.Is(err, context.Canceled)
}

// rewritePID makes $$ and $PPID those of the simulated process.
func rewritePID(st *syntax.Stmt) {
	syntax.Walk(st, func(n syntax.Node) bool {
		if pe, ok := n.(*syntax.ParamExp); ok && pe.Param != nil {
			switch pe.Param.Value {
			case "$":
				pe.Param.Value = "LABSIM_PID"
			case "PPID":
				pe.Param.Value = "LABSIM_PPID"
			}
		}
		return true
	})
}
