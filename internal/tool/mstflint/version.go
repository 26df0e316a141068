package mstflint

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ToolVersion is the version of the tool itself.
type ToolVersion struct {
	Major, Minor, Patch int
}

// String gives "4.21.0".
func (v ToolVersion) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// versionLine is "mstflint, mstflint 4.21.0, Git SHA Hash: N/A"; the name
// after the comma is that of the package and varies.
var versionLine = regexp.MustCompile(`(?m)^mstflint,\s+\S+\s+(\d+)\.(\d+)\.(\d+)`)

// ParseVersion reads the output of Version.
func ParseVersion(output string) (ToolVersion, error) {
	m := versionLine.FindStringSubmatch(strings.TrimSpace(output))
	if m == nil {
		return ToolVersion{}, fmt.Errorf("no version in %q, want a line like %q", firstLine(output),
			"mstflint, mstflint 4.21.0, Git SHA Hash: N/A")
	}
	var n [3]int
	for i, p := range m[1:] {
		v, err := strconv.Atoi(p)
		if err != nil {
			return ToolVersion{}, fmt.Errorf("invalid version number %q", p)
		}
		n[i] = v
	}
	return ToolVersion{Major: n[0], Minor: n[1], Patch: n[2]}, nil
}

// lastLine is the last one that is not empty. A progress display ends its lines with carriage returns.
func lastLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
