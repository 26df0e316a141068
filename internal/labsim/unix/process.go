package unix

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// builtinOf runs a shell builtin as a program, for callers without a shell.
func builtinOf(name string) labsim.Program {
	return func(ctx context.Context, p *labsim.Proc) int {
		args := append([]string{"/bin/sh", "-c", name + ` "$@"`, name}, p.Args[1:]...)
		if name == "[" {
			args = append([]string{"/bin/sh", "-c", `[ "$@"`, name}, p.Args[1:]...)
		}
		return p.Run(ctx, args...)
	}
}

var (
	printf = builtinOf("printf")
	echo   = builtinOf("echo")
	test   = func(ctx context.Context, p *labsim.Proc) int { return builtinOf(p.Name())(ctx, p) }
)

func id(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "u", "g", "n")
	if !good {
		return 2
	}
	switch {
	case f.Has("u") && f.Has("n"):
		p.Printf("%s\n", userName(p, p.UID))
	case f.Has("u"):
		p.Printf("%d\n", p.UID)
	case f.Has("g"):
		p.Printf("%d\n", p.GID)
	default:
		name := userName(p, p.UID)
		p.Printf("uid=%d(%s) gid=%d(%s) groups=%d(%s)\n", p.UID, name, p.GID, name, p.GID, name)
	}
	return 0
}

func uname(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "r", "m", "s", "n", "v", "a")
	if !good {
		return 2
	}
	var out []string
	add := func(flag, value string) {
		if f.Has(flag) || f.Has("a") {
			out = append(out, value)
		}
	}
	add("s", "Linux")
	add("n", p.Machine.Name)
	add("r", p.Machine.Kernel)
	add("v", "#1 SMP PREEMPT_DYNAMIC")
	add("m", "x86_64")
	if len(out) == 0 {
		out = []string{"Linux"}
	}
	p.Printf("%s\n", strings.Join(out, " "))
	return 0
}

func hostname(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "s", "f")
	if !good || len(f.Args) > 0 {
		return p.Unknown("hostname with an operand")
	}
	p.Printf("%s\n", p.Machine.Name)
	return 0
}

// date knows date [-u] [+FORMAT] with %s %N %Y %m %d %H %M %S %T %F %z and -Is.
func date(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "u", "I=", "d=")
	if !good {
		return 2
	}
	now := p.Machine.Lab.Clock.Now().UTC()
	switch {
	case f.Has("d"):
		return p.Unknown("date -d")
	case f.Has("I"):
		p.Printf("%s\n", now.Format("2006-01-02T15:04:05+00:00"))
	case len(f.Args) == 0:
		p.Printf("%s\n", now.Format("Mon Jan _2 15:04:05 UTC 2006"))
	case strings.HasPrefix(f.Args[0], "+"):
		out := strings.NewReplacer("%s", strconv.FormatInt(now.Unix(), 10), "%N", now.Format("000000000"),
			"%Y", now.Format("2006"), "%m", now.Format("01"), "%d", now.Format("02"), "%H", now.Format("15"),
			"%M", now.Format("04"), "%S", now.Format("05"), "%T", now.Format("15:04:05"), "%F", now.Format("2006-01-02"),
			"%z", "+0000", "%Z", "UTC", "%3N", now.Format("000")).Replace(f.Args[0][1:])
		p.Printf("%s\n", out)
	default:
		return p.Unknown("setting the date")
	}
	return 0
}

func seconds(s string) (time.Duration, bool) {
	unit := time.Second
	switch {
	case strings.HasSuffix(s, "ms"):
		return 0, false
	case strings.HasSuffix(s, "s"):
		s = strings.TrimSuffix(s, "s")
	case strings.HasSuffix(s, "m"):
		s, unit = strings.TrimSuffix(s, "m"), time.Minute
	case strings.HasSuffix(s, "h"):
		s, unit = strings.TrimSuffix(s, "h"), time.Hour
	}
	v, err := strconv.ParseFloat(s, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
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

var signalNumbers = map[string]syscall.Signal{
	"0": 0, "HUP": 1, "INT": 2, "QUIT": 3, "KILL": 9, "PIPE": 13, "TERM": 15, "STOP": 19, "CONT": 18,
	"1": 1, "2": 2, "3": 3, "9": 9, "13": 13, "15": 15,
}

// kill knows kill [-SIG|-s SIG] PID...
func kill(_ context.Context, p *labsim.Proc) int {
	args, sig := p.Args[1:], syscall.SIGTERM
	if len(args) > 1 && args[0] == "-s" {
		args = append([]string{"-" + args[1]}, args[2:]...)
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		n, known := signalNumbers[strings.TrimPrefix(args[0][1:], "SIG")]
		if !known {
			return p.Unknown("signal " + args[0])
		}
		sig, args = n, args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	status := 0
	for _, a := range args {
		pid, err := strconv.Atoi(a)
		if err != nil || pid <= 0 {
			return p.Unknown("kill of " + a)
		}
		victim := p.Machine.Process(pid)
		switch {
		case victim == nil:
			status = p.Fail(1, "(%d) - No such process", pid)
		case p.UID != 0 && victim.UID != p.UID:
			status = p.Fail(1, "(%d) - Operation not permitted", pid)
		case sig != 0:
			victim.Signal(sig)
		}
	}
	return status
}
