package unix

import (
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

var (
	sedScript = regexp.MustCompile(`^([0-9]*)s/((?:[^/\\]|\\.)*)/((?:[^/\\&$]|\\[0-9])*)/(p?)$`)
	sedGroup  = regexp.MustCompile(`\\([0-9])`)
)

// sed knows [-n] '[N]s/re/text/[p]' with a basic expression, under the rule of grep.
func sed(_ context.Context, p *labsim.Proc, f *labsim.Flags) int {
	if len(f.Args) == 0 {
		return p.Unknown("sed without a script")
	}
	parts := sedScript.FindStringSubmatch(f.Args[0])
	if parts == nil {
		return p.Unknown("sed script " + f.Args[0])
	}
	re, ok := sedPattern(parts[2])
	if !ok {
		return p.Unknown("sed pattern " + parts[2])
	}
	with := sedGroup.ReplaceAllString(parts[3], "$${$1}")
	return inputs(p, f.Args[1:], func(_ string, r io.Reader) {
		for i, l := range lines(r) {
			at := re.FindStringSubmatchIndex(l)
			if at != nil && (parts[1] == "" || parts[1] == strconv.Itoa(i+1)) {
				l = l[:at[0]] + string(re.ExpandString(nil, with, l, at)) + l[at[1]:]
				if parts[4] == "p" {
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
