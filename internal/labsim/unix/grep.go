package unix

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// expressions are those of -e or, without any, the first operand; files are the
// other operands.
func expressions(f *labsim.Flags) (all, files []string) {
	all, files = f.All("e"), f.Args
	if len(all) == 0 && len(files) > 0 {
		return files[:1], files[1:]
	}
	return all, files
}

// grep uses Go's regular expressions: -E patterns of scripts mean the same; a
// basic pattern with a backslash is refused, since it would not.
func grep(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	patterns, files := expressions(f)
	if len(patterns) == 0 {
		return p.Unknown("grep without a pattern")
	}
	re, bad := grepPattern(f, patterns)
	if bad != "" {
		return p.Unknown(bad)
	}
	found := false
	status := inputs(quiet(p, f.Has("s")), files, func(name string, r io.Reader) {
		matches := 0
		for _, l := range lines(r) {
			if !re.MatchString(l) {
				continue
			}
			found = true
			matches++
			if f.Has("q") || f.Has("c") || f.Has("l") {
				continue
			}
			if f.Has("m") && strconv.Itoa(matches-1) == f.Get("m") {
				break
			}
			grepPrint(p, f, name, l, len(files) > 1)
		}
		switch {
		case f.Has("c"):
			p.Printf("%d\n", matches)
		case f.Has("l") && matches > 0:
			p.Printf("%s\n", name)
		}
	})
	switch {
	case found && (status == 0 || f.Has("q")):
		return 0
	case status != 0:
		return 2
	}
	return 1
}

func grepPrint(p *labsim.Proc, f *labsim.Flags, name, line string, many bool) {
	if many && !f.Has("h") || f.Has("H") {
		line = name + ":" + line
	}
	p.Printf("%s\n", line)
}

func grepPattern(f *labsim.Flags, patterns []string) (re *regexp.Regexp, bad string) {
	var parts []string
	for _, s := range patterns {
		if !f.Has("E") {
			if strings.Contains(strings.ReplaceAll(s, `\.`, ""), `\`) {
				return nil, "basic regular expression with a backslash: " + s
			}
			s = escapeBasic(s)
		}
		parts = append(parts, "(?:"+s+")")
	}
	s := strings.Join(parts, "|")
	if f.Has("i") {
		s = "(?i)" + s
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, "pattern " + s
	}
	return re, ""
}

// escapeBasic escapes what is literal in a basic regular expression.
func escapeBasic(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune("+?(){}|", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// quiet drops the messages about unreadable files.
func quiet(p *labsim.Proc, on bool) *labsim.Proc {
	if !on {
		return p
	}
	c := p.Child(p.Args...)
	c.Stderr = io.Discard
	return c
}
