package mstflint

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Verification is what "mstflint v" found.
type Verification struct {
	// OK is true if the tool says so and no section has a wrong or blank CRC.
	// The tool's own verdict is not enough: for a raw flash dump, 4.21 prints a
	// wrong CRC of the full image and then "verification succeeded".
	OK       bool
	Format   string // "FS2"
	Failsafe bool
	Sections []Section
	Problem  string // why OK is false: the first bad section or the tool's message
}

// Section is one part of an image with the result of its check.
type Section struct {
	Name   string
	Start  uint64
	Result string // "OK", "CRC IGNORED", "wrong CRC (exp:0x…, act:0x…)", …
}

var (
	sectionLine = regexp.MustCompile(`^/0x([0-9a-f]+)-0x[0-9a-f]+ \(0x[0-9a-f]+\)/ \(([^)]*)\)(?: /0x[0-9a-f]+/)? - (.*)$`)
	formatLine  = regexp.MustCompile(`^(FS\d) (non failsafe|failsafe) image`)
)

// ParseVerify reads the output of Verify and VerifyImage; the exit status of
// the command must be looked at as well. An output without the closing verdict
// is an error, as is a line of a section that cannot be read.
func ParseVerify(output string) (Verification, error) {
	var v Verification
	verdict, said := false, false
	last, lastText := 0, ""
	for n, line := range tool.Lines(output) {
		text := strings.TrimSpace(line)
		if text != "" {
			last, lastText = n, text
		}
		switch {
		case strings.HasPrefix(text, "/0x"):
			if err := v.section(n, text); err != nil {
				return Verification{}, err
			}
		case strings.Contains(text, "FW image verification succeeded"):
			verdict, said = true, true
		case strings.Contains(text, "-E- "):
			said = true
			v.note(text[strings.Index(text, "-E- ")+len("-E- "):])
		default:
			v.heading(text)
		}
	}
	if !said {
		return Verification{}, tool.Errorf(last, lastText,
			"no verdict of the tool up to the last line: the output is cut, or in words that are not known")
	}
	// The tool checks section by section: a verdict on none is no check.
	if verdict && len(v.Sections) == 0 {
		return Verification{}, errors.New("a verdict without a single section")
	}
	v.OK = verdict && v.Problem == ""
	return v, nil
}

func (v *Verification) section(n int, text string) error {
	m := sectionLine.FindStringSubmatch(text)
	if m == nil {
		return tool.Errorf(n, text, "not the line of a section")
	}
	start, err := strconv.ParseUint(m[1], 16, 64)
	if err != nil {
		return tool.Errorf(n, text, "%v", err)
	}
	s := Section{Name: m[2], Start: start, Result: strings.TrimSpace(m[3])}
	v.Sections = append(v.Sections, s)
	if s.Result != "OK" && s.Result != "CRC IGNORED" {
		v.note(fmt.Sprintf("section %s at 0x%x: %s", s.Name, s.Start, s.Result))
	}
	return nil
}

// note keeps the first problem. The tool's closing message only repeats it in general
// terms.
func (v *Verification) note(problem string) {
	v.Problem = cmp.Or(v.Problem, problem)
}

func (v *Verification) heading(text string) {
	if m := formatLine.FindStringSubmatch(text); m != nil {
		v.Format, v.Failsafe = m[1], m[2] == "failsafe"
	}
}

var checksumLine = regexp.MustCompile(`(?m)^\s*Checksum:\s*([0-9a-f]{32})\s*$`)

// ParseChecksum reads the output of Checksum: 32 hexadecimal digits.
func ParseChecksum(output string) (string, error) {
	m := checksumLine.FindStringSubmatch(output)
	if m == nil {
		return "", fmt.Errorf("no checksum in %q", firstLine(output))
	}
	return m[1], nil
}

// OnlyBlankGUIDs reports whether the GUID section that was never set is the one
// thing that the tool complains about.
func (v Verification) OnlyBlankGUIDs() bool {
	for _, s := range v.Sections {
		if s.Result != "OK" && s.Result != "CRC IGNORED" && !strings.Contains(s.Result, "BLANK") {
			return false
		}
	}
	return len(v.Sections) > 0
}
