package unix

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

func dmesg(_ context.Context, p *labsim.Proc) int {
	if _, good := p.ParseFlags(false, "T"); !good {
		return 2
	}
	if p.UID != 0 {
		return p.Fail(1, "read kernel buffer failed: Operation not permitted")
	}
	for _, l := range p.Machine.KernelLines() {
		p.Printf("[    1.000000] %s\n", l)
	}
	return 0
}

// ps knows ps -p PID [-o FIELD=].
func ps(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "p=", "o=", "e", "f")
	if !good {
		return 2
	}
	shown := 0
	for _, proc := range p.Machine.Processes() {
		if f.Has("p") && strconv.Itoa(proc.PID) != f.Get("p") {
			continue
		}
		shown++
		switch f.Get("o") {
		case "comm=":
			p.Printf("%s\n", proc.Name())
		case "args=", "cmd=":
			p.Printf("%s\n", strings.Join(proc.Args, " "))
		case "pid=":
			p.Printf("%7d\n", proc.PID)
		case "":
			p.Printf("%7d ?        00:00:00 %s\n", proc.PID, strings.Join(proc.Args, " "))
		default:
			return p.Unknown("ps -o " + f.Get("o"))
		}
	}
	if shown == 0 {
		return 1
	}
	return 0
}

func pgrep(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "x", "f")
	if !good || len(f.Args) != 1 {
		return p.Unknown("pgrep operands")
	}
	status := 1
	for _, proc := range p.Machine.Processes() {
		name := proc.Name()
		if f.Has("f") {
			name = strings.Join(proc.Args, " ")
		}
		if proc.PID != p.PID && (name == f.Args[0] || !f.Has("x") && strings.Contains(name, f.Args[0])) {
			p.Printf("%d\n", proc.PID)
			status = 0
		}
	}
	return status
}

// find knows find PATH... [-maxdepth N] [-mindepth N] [-name GLOB] [-lname GLOB] [-type f|d|l] [-print|-delete|-print0],
// and -o between tests.
func find(_ context.Context, p *labsim.Proc) int {
	q := query{max: 1 << 30, tests: make([]fileTest, 1)}
	args := p.Args[1:]
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		q.roots, args = append(q.roots, args[0]), args[1:]
	}
	for len(args) > 0 {
		key := args[0]
		args = args[1:]
		switch key {
		case "-print":
			continue
		case "-o":
			q.tests = append(q.tests, fileTest{})
			continue
		case "-print0":
			q.zero = true
			continue
		case "-delete":
			q.delete = true
			continue
		}
		if len(args) == 0 || !q.set(key, args[0]) {
			return p.Unknown("find " + key)
		}
		args = args[1:]
	}
	status := 0
	for _, root := range q.roots {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(root), false)
		if err != nil {
			status = p.Fail(1, "'%s': %s", root, reason(err))
			continue
		}
		q.walk(p, root, info, 0)
	}
	return status
}

type query struct {
	roots        []string
	min, max     int
	tests        []fileTest // one of them has to hold
	zero, delete bool
}

type fileTest struct{ name, link, kind string }

func (q *query) set(key, value string) bool {
	var err error
	last := &q.tests[len(q.tests)-1]
	switch key {
	case "-maxdepth":
		q.max, err = strconv.Atoi(value)
	case "-mindepth":
		q.min, err = strconv.Atoi(value)
	case "-name":
		last.name = value
	case "-lname":
		last.link = value
	case "-type":
		last.kind = value
		return value == "f" || value == "d" || value == "l"
	default:
		return false
	}
	return err == nil
}

func (t fileTest) matches(p *labsim.Proc, name string, info fs.FileInfo) bool {
	if t.name != "" {
		if hit, err := path.Match(t.name, info.Name()); err != nil || !hit {
			return false
		}
	}
	if t.link != "" {
		// A star of find matches slashes, too.
		target, err := p.Machine.FS.Readlink(p.Cred(), p.Abs(name))
		hit, bad := path.Match(strings.ReplaceAll(t.link, "/", "\x01"), strings.ReplaceAll(target, "/", "\x01"))
		if err != nil || bad != nil || !hit {
			return false
		}
	}
	switch t.kind {
	case "f":
		return info.Mode().IsRegular()
	case "d":
		return info.IsDir()
	case "l":
		return info.Mode()&fs.ModeSymlink != 0
	}
	return true
}

func (q *query) matches(p *labsim.Proc, name string, info fs.FileInfo) bool {
	return slices.ContainsFunc(q.tests, func(t fileTest) bool { return t.matches(p, name, info) })
}

func (q *query) walk(p *labsim.Proc, name string, info fs.FileInfo, depth int) {
	show := depth >= q.min && q.matches(p, name, info)
	if show && !q.delete {
		end := "\n"
		if q.zero {
			end = "\x00"
		}
		p.Printf("%s%s", name, end)
	}
	if info.IsDir() && depth < q.max {
		entries, err := p.Machine.FS.ReadDir(p.Cred(), p.Abs(name))
		if err != nil {
			p.Fail(1, "'%s': %s", name, reason(err))
		}
		for _, e := range entries {
			q.walk(p, strings.TrimSuffix(name, "/")+"/"+e.Name(), e, depth+1)
		}
	}
	if show && q.delete {
		_ = p.Machine.FS.Remove(p.Cred(), p.Abs(name))
	}
}
