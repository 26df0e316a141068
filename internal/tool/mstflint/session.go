package mstflint

import (
	"regexp"
	"strconv"
	"strings"
)

// Session is what a burn, an sg or the removal of a ROM printed, whole or cut.
type Session struct {
	Percent int // last progress, -1 if none was printed
	Errors  []string
}

var (
	promptText   = regexp.MustCompile(`^.*\(y/n\) \[n\] :\s*(?:[yn]\s)?`)
	progressText = regexp.MustCompile(`^\S.*?\s+-\s+(\d{1,3})%`)
)

// ParseSession reads the output of Burn or SetGUIDs, standard output and error
// together. It never fails, because a write may be cut at any byte. The tool overwrites
// progress with carriage returns and prints errors right behind it. So both ends of
// line count, and errors are looked for anywhere. A prompt ends without a line end if the
// answer comes from standard input.
func ParseSession(output string) Session {
	s := Session{Percent: -1}
	for _, line := range strings.FieldsFunc(output, func(r rune) bool { return r == '\r' || r == '\n' }) {
		text, failed, fails := strings.Cut(strings.TrimSpace(line), "-E- ")
		text = strings.TrimSpace(promptText.ReplaceAllString(text, ""))
		if m := progressText.FindStringSubmatch(text); m != nil {
			s.Percent, _ = strconv.Atoi(m[1]) // digits only, by the expression
		}
		if hasPrefix(text, "FATAL", "Segmentation fault", "Bus error") {
			s.Errors = append(s.Errors, text)
		}
		for part := range strings.SplitSeq(failed, "-E- ") { // the tool glues errors together
			if part = strings.TrimSpace(part); fails && part != "" {
				s.Errors = append(s.Errors, part)
			}
		}
	}
	return s
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
