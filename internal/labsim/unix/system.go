package unix

import (
	"bufio"
	"context"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

var labsimRoot = vfs.Root

func randomName(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

func basename(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) < 2 || len(p.Args) > 3 {
		return p.Unknown("basename operands")
	}
	name := path.Base(p.Args[1])
	if len(p.Args) == 3 && name != p.Args[2] {
		name = strings.TrimSuffix(name, p.Args[2])
	}
	p.Printf("%s\n", name)
	return 0
}

func dirname(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) != 2 {
		return p.Unknown("dirname operands")
	}
	p.Printf("%s\n", path.Dir(p.Args[1]))
	return 0
}

func truncate(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "s=")
	if !good {
		return 2
	}
	n, err := strconv.ParseInt(f.Get("s"), 10, 64)
	if err != nil {
		return p.Unknown("size " + f.Get("s"))
	}
	for _, name := range f.Args {
		h, err := p.Open(name, syscall.O_WRONLY|syscall.O_CREAT)
		if err == nil {
			err = h.Truncate(n)
		}
		if err != nil {
			return p.Fail(1, "failed to truncate '%s': %s", name, reason(err))
		}
	}
	return 0
}

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

func nproc(_ context.Context, p *labsim.Proc) int {
	p.Printf("8\n")
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

func xargs(ctx context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(true, "r", "n=", "0")
	if !good {
		return 2
	}
	var words []string
	scan := bufio.NewScanner(p.Stdin)
	for scan.Scan() {
		if f.Has("0") {
			words = append(words, strings.FieldsFunc(scan.Text(), func(r rune) bool { return r == 0 })...)
			continue
		}
		words = append(words, strings.Fields(scan.Text())...)
	}
	if len(words) == 0 && f.Has("r") {
		return 0
	}
	each := len(words)
	if f.Has("n") {
		each, _ = strconv.Atoi(f.Get("n"))
	}
	status := 0
	for first := true; first || len(words) > 0; first = false {
		n := min(max(each, 1), len(words))
		if p.Run(ctx, append(append([]string{}, f.Args...), words[:n]...)...) != 0 {
			status = 123
		}
		words = words[n:]
	}
	return status
}

// getent knows getent passwd NAME|UID and getent group NAME.
func getent(_ context.Context, p *labsim.Proc) int {
	if len(p.Args) != 3 || p.Args[1] != "passwd" && p.Args[1] != "group" {
		return p.Unknown("getent operands")
	}
	data, err := p.ReadFile("/etc/" + p.Args[1])
	if err != nil {
		return 2
	}
	for _, l := range strings.Split(string(data), "\n") {
		f := strings.Split(l, ":")
		if len(f) > 2 && (f[0] == p.Args[2] || f[2] == p.Args[2]) {
			p.Printf("%s\n", l)
			return 0
		}
	}
	return 2
}

func seq(_ context.Context, p *labsim.Proc) int {
	from, to := 1, 0
	var err error
	switch len(p.Args) {
	case 2:
		to, err = strconv.Atoi(p.Args[1])
	case 3:
		if from, err = strconv.Atoi(p.Args[1]); err == nil {
			to, err = strconv.Atoi(p.Args[2])
		}
	default:
		return p.Unknown("seq operands")
	}
	if err != nil {
		return p.Unknown("seq operands")
	}
	for ; from <= to; from++ {
		p.Printf("%d\n", from)
	}
	return 0
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
