package unix

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// builtin runs a builtin of the shell as a program, for callers without a shell.
func builtin(name string) labsim.Program {
	return func(ctx context.Context, p *labsim.Proc) int {
		return p.Run(ctx, append([]string{"/bin/sh", "-c", name + ` "$@"`, name}, p.Args[1:]...)...)
	}
}

// id knows id -u [-n].
func id(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	switch {
	case !f.Has("u"):
		return p.Unknown("id without -u")
	case !f.Has("n"):
		p.Printf("%d\n", p.UID)
	case len(f.Args) == 0:
		p.Printf("%s\n", userName(p, p.UID))
	default:
		return idName(p, f.Args[0])
	}
	return 0
}

// idName is "id -un UID", the name that belongs to a number.
func idName(p *labsim.Proc, number string) int {
	for _, u := range p.Machine.Users() {
		if strconv.Itoa(u.UID) == number || u.Name == number {
			p.Printf("%s\n", u.Name)
			return 0
		}
	}
	return p.Fail(1, "'%s': no such user", number)
}

func uname(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	var out []string
	if f.Has("s") || !f.Has("r") {
		out = append(out, "Linux")
	}
	if f.Has("r") {
		out = append(out, p.Machine.Kernel)
	}
	p.Printf("%s\n", strings.Join(out, " "))
	return 0
}

func hostname(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) > 1 {
		return p.Unknown("hostname with an operand")
	}
	p.Printf("%s\n", p.Machine.Name)
	return 0
}

// date knows date -u +FORMAT with %s %Y %m %d %H %M %S; its zone is UTC anyway.
func date(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	now := p.Machine.Lab.Clock.Now().UTC()
	format, ok := strings.CutPrefix(strings.Join(f.Args, " "), "+")
	out := strings.NewReplacer("%s", strconv.FormatInt(now.Unix(), 10), "%Y", now.Format("2006"), "%m", now.Format("01"),
		"%d", now.Format("02"), "%H", now.Format("15"), "%M", now.Format("04"), "%S", now.Format("05")).Replace(format)
	if !ok || strings.Contains(out, "%") {
		return p.Unknown("form of date")
	}
	p.Printf("%s\n", out)
	return 0
}

func seconds(s string) (time.Duration, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return time.Duration(v * float64(time.Second)), err == nil && v >= 0
}

func sleep(ctx context.Context, p *labsim.Proc) int {
	if len(p.Args) != 2 {
		return p.Unknown("sleep operands")
	}
	d, good := seconds(p.Args[1])
	if !good {
		return p.Fail(1, "invalid time interval '%s'", p.Args[1])
	}
	if p.Machine.Lab.Clock.Sleep(ctx, d) != nil {
		return labsim.SignalStatus(ctx)
	}
	return 0
}

var signalNumbers = map[string]syscall.Signal{"0": 0, "HUP": 1, "INT": 2, "KILL": 9, "9": 9, "TERM": 15}

// kill knows kill [-SIG] PID.
func kill(_ context.Context, p *labsim.Proc) int {
	args, sig := p.Args[1:], syscall.SIGTERM
	if len(args) == 2 {
		n, known := signalNumbers[strings.TrimPrefix(args[0], "-")]
		if !known {
			return p.Unknown("signal " + args[0])
		}
		sig, args = n, args[1:]
	}
	pid, err := strconv.Atoi(strings.Join(args, " "))
	if err != nil || pid <= 0 {
		return p.Unknown("form of kill")
	}
	victim := p.Machine.Process(pid)
	switch {
	case victim == nil:
		return p.Fail(1, "(%d) - No such process", pid)
	case p.UID != 0 && victim.UID != p.UID:
		return p.Fail(1, "(%d) - Operation not permitted", pid)
	case sig != 0:
		victim.Signal(sig)
	}
	return 0
}
