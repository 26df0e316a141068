package unix

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// sedCommand is one of s, p, d, q with an optional address.
type sedCommand struct {
	from, to int // line numbers; 0: none, -1: last
	match    *regexp.Regexp
	verb     byte
	re       *regexp.Regexp
	with     string
	global   bool
	print    bool
}

// sed knows [-n] [-E] [-e] of: [N|N,M|$|/re/](p|d|q|s/re/text/[gp]), one command per
// expression or separated by ";". Basic expressions follow the rule of grep.
func sed(_ context.Context, p *labsim.Proc) int {
	f, good := p.ParseFlags(false, "n", "E", "r", "e=")
	if !good {
		return 2
	}
	scripts, files := expressions(f)
	if len(scripts) == 0 {
		return p.Unknown("sed without a script")
	}
	var commands []sedCommand
	for _, s := range scripts {
		for _, part := range splitSed(s) {
			c, bad := parseSed(part, f.Has("E") || f.Has("r"))
			if bad != "" {
				return p.Unknown("sed script " + bad)
			}
			commands = append(commands, c)
		}
	}
	return inputs(p, files, func(_ string, r io.Reader) {
		all := lines(r)
		for i, l := range all {
			if !sedLine(p, commands, l, i+1, len(all), f.Has("n")) {
				return
			}
		}
	})
}

// splitSed separates commands at ";" outside of s///.
func splitSed(s string) []string {
	if strings.Contains(s, "s/") || strings.Contains(s, "s|") || strings.Contains(s, "s,") {
		return []string{s}
	}
	return strings.FieldsFunc(s, func(r rune) bool { return r == ';' || r == '\n' })
}

func sedLine(p *labsim.Proc, commands []sedCommand, l string, n, last int, silent bool) bool {
	for _, c := range commands {
		if !c.applies(l, n, last) {
			continue
		}
		switch c.verb {
		case 'p':
			p.Printf("%s\n", l)
		case 'd':
			return true
		case 'q':
			if !silent {
				p.Printf("%s\n", l)
			}
			return false
		case 's':
			var changed bool
			l, changed = c.substitute(l)
			if changed && c.print {
				p.Printf("%s\n", l)
			}
		}
	}
	if !silent {
		p.Printf("%s\n", l)
	}
	return true
}

func (c sedCommand) applies(l string, n, last int) bool {
	at := func(v int) int {
		if v == -1 {
			return last
		}
		return v
	}
	switch {
	case c.match != nil:
		return c.match.MatchString(l)
	case c.from == 0:
		return true
	case c.to == 0:
		return n == at(c.from)
	}
	return n >= at(c.from) && n <= at(c.to)
}

func (c sedCommand) substitute(l string) (string, bool) {
	loc := c.re.FindStringSubmatchIndex(l)
	if loc == nil {
		return l, false
	}
	if c.global {
		return c.re.ReplaceAllString(l, c.with), true
	}
	return l[:loc[0]] + string(c.re.ExpandString(nil, c.with, l, loc)) + l[loc[1]:], true
}

func parseSed(s string, extended bool) (c sedCommand, bad string) {
	whole := s
	s = strings.TrimSpace(s)
	s, bad = c.address(s, extended)
	if bad != "" || s == "" {
		return c, whole
	}
	c.verb = s[0]
	switch c.verb {
	case 'p', 'd', 'q':
		if len(s) > 1 {
			return c, whole
		}
		return c, ""
	case 's':
		parts := strings.Split(s[2:], s[1:2])
		if len(parts) != 3 {
			return c, whole
		}
		re, ok := sedPattern(parts[0], extended)
		if !ok {
			return c, whole
		}
		c.re, c.global, c.print = re, strings.Contains(parts[2], "g"), strings.Contains(parts[2], "p")
		with := strings.ReplaceAll(parts[1], "$", "$$")
		c.with = regexp.MustCompile(`\\([0-9])`).ReplaceAllString(with, "$${$1}")
		if strings.Contains(c.with, "&") || strings.Trim(parts[2], "gp") != "" {
			return c, whole
		}
		return c, ""
	}
	return c, whole
}

func (c *sedCommand) address(s string, extended bool) (rest, bad string) {
	if strings.HasPrefix(s, "/") {
		end := strings.Index(s[1:], "/")
		if end < 0 {
			return "", s
		}
		re, ok := sedPattern(s[1:end+1], extended)
		if !ok {
			return "", s
		}
		c.match = re
		return strings.TrimSpace(s[end+2:]), ""
	}
	n := 0
	for n < len(s) && strings.ContainsRune("0123456789,$", rune(s[n])) {
		n++
	}
	if n == 0 {
		return s, ""
	}
	from, to, _ := strings.Cut(s[:n], ",")
	c.from, c.to = lineNumber(from), lineNumber(to)
	return strings.TrimSpace(s[n:]), ""
}

func lineNumber(s string) int {
	if s == "$" {
		return -1
	}
	n, _ := strconv.Atoi(s)
	return n
}

func sedPattern(s string, extended bool) (*regexp.Regexp, bool) {
	if !extended {
		// \( \) \{ \} are the groups of basic expressions.
		plain := strings.NewReplacer(`\(`, "\x01", `\)`, "\x02", `\.`, "\x03", `\/`, "/").Replace(s)
		if strings.Contains(plain, `\`) {
			return nil, false
		}
		s = strings.NewReplacer("\x01", "(", "\x02", ")", "\x03", `\.`).Replace(escapeBasic(plain))
	}
	re, err := regexp.Compile(s)
	return re, err == nil
}
