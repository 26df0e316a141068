package unix

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// pgrep knows pgrep [-a] NAME.
func pgrep(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) != 1 {
		return p.Unknown("pgrep operands")
	}
	status := 1
	for _, proc := range p.Machine.Processes() {
		if proc.PID == p.PID || !strings.Contains(proc.Name(), f.Args[0]) {
			continue
		}
		status = 0
		if f.Has("a") {
			p.Printf("%d %s\n", proc.PID, strings.Join(proc.Args, " "))
		} else {
			p.Printf("%d\n", proc.PID)
		}
	}
	return status
}

// find knows find PATH... [-name GLOB] [-lname GLOB] [-type f], and -o between tests.
func find(_ context.Context, p *labsim.Proc) int {
	tests := []fileTest{{}} // one of them has to hold
	args := p.Args[1:]
	var roots []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		roots, args = append(roots, args[0]), args[1:]
	}
	for len(args) > 0 {
		last := &tests[len(tests)-1]
		switch {
		case args[0] == "-o":
			tests, args = append(tests, fileTest{}), args[1:]
			continue
		case len(args) > 1 && args[0] == "-name":
			last.name = args[1]
		case len(args) > 1 && args[0] == "-lname":
			last.link = args[1]
		case len(args) > 1 && args[0] == "-type" && args[1] == "f":
			last.regular = true
		default:
			return p.Unknown("find " + args[0])
		}
		args = args[2:]
	}
	status := 0
	for _, root := range roots {
		info, err := p.Machine.FS.Stat(p.Cred(), p.Abs(root), false)
		if err != nil {
			status = p.Fail(1, "'%s': %s", root, reason(err))
			continue
		}
		findBelow(p, tests, root, info)
	}
	return status
}

type fileTest struct {
	name, link string
	regular    bool
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
	return !t.regular || info.Mode().IsRegular()
}

func findBelow(p *labsim.Proc, tests []fileTest, name string, info fs.FileInfo) {
	if slices.ContainsFunc(tests, func(t fileTest) bool { return t.matches(p, name, info) }) {
		p.Printf("%s\n", name)
	}
	if !info.IsDir() {
		return
	}
	entries, err := p.Machine.FS.ReadDir(p.Cred(), p.Abs(name))
	if err != nil {
		p.Fail(1, "'%s': %s", name, reason(err))
	}
	for _, e := range entries {
		findBelow(p, tests, strings.TrimSuffix(name, "/")+"/"+e.Name(), e)
	}
}
