package unix

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

var sedGroup = regexp.MustCompile(`\\([0-9])`)

// sed knows [-n] '[N]s/re/text/[p]' with a basic expression, under the rule of grep.
func sed(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) == 0 {
		return p.Unknown("sed without a script")
	}
	line, rest, _ := strings.Cut(f.Args[0], "s")
	_, err := strconv.Atoi("0" + line)
	if err != nil || rest == "" {
		return p.Unknown("sed script " + f.Args[0])
	}
	parts := strings.Split(rest[1:], rest[:1])
	if len(parts) != 3 || strings.ContainsAny(parts[1], "&$") || parts[2] != "" && parts[2] != "p" {
		return p.Unknown("sed script " + f.Args[0])
	}
	re, ok := sedPattern(parts[0])
	if !ok {
		return p.Unknown("sed pattern " + parts[0])
	}
	with := sedGroup.ReplaceAllString(parts[1], "$${$1}")
	return inputs(p, f.Args[1:], func(_ string, r io.Reader) {
		for i, l := range lines(r) {
			at := re.FindStringSubmatchIndex(l)
			if at != nil && (line == "" || line == strconv.Itoa(i+1)) {
				l = l[:at[0]] + string(re.ExpandString(nil, with, l, at)) + l[at[1]:]
				if parts[2] == "p" {
					p.Printf("%s\n", l)
				}
			}
			if !f.Has("n") {
				p.Printf("%s\n", l)
			}
		}
	})
}

func sedPattern(s string) (*regexp.Regexp, bool) {
	// \( \) are the groups of basic expressions.
	plain := strings.NewReplacer(`\(`, "\x01", `\)`, "\x02", `\.`, "\x03", `\/`, "/").Replace(s)
	if strings.Contains(plain, `\`) {
		return nil, false
	}
	re, err := regexp.Compile(strings.NewReplacer("\x01", "(", "\x02", ")", "\x03", `\.`).Replace(escapeBasic(plain)))
	return re, err == nil
}
