package mstflint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ToolVersion is the version of the tool itself.
type ToolVersion struct {
	Major, Minor, Patch int
	Hash                string // "N/A" in distribution builds
}

// String gives "4.21.0".
func (v ToolVersion) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Before reports whether v is older than major.minor.
func (v ToolVersion) Before(major, minor int) bool {
	return v.Major < major || v.Major == major && v.Minor < minor
}

// versionLine is "mstflint, mstflint 4.21.0, Git SHA Hash: N/A"; the name
// after the comma is that of the package and varies.
var versionLine = regexp.MustCompile(`^mstflint,\s+\S+\s+(\d+)\.(\d+)\.(\d+)[^\s,]*(?:,\s*Git SHA Hash:\s*(\S+))?`)

// ParseVersion reads the output of Version.
func ParseVersion(output string) (ToolVersion, error) {
	m := versionLine.FindStringSubmatch(strings.TrimSpace(output))
	if m == nil {
		return ToolVersion{}, fmt.Errorf("no version in %q, want a line like %q", firstLine(output), "mstflint, mstflint 4.21.0, Git SHA Hash: N/A")
	}
	return numbers(m[1:4], m[4])
}

// ParseToolVersion reads "4.21.0", the form of ToolVersion.String.
func ParseToolVersion(s string) (ToolVersion, error) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return ToolVersion{}, fmt.Errorf("invalid version %q, want three numbers", s)
	}
	return numbers(parts, "")
}

func numbers(parts []string, hash string) (ToolVersion, error) {
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil {
			return ToolVersion{}, fmt.Errorf("invalid version number %q", p)
		}
		n[i] = v
	}
	return ToolVersion{Major: n[0], Minor: n[1], Patch: n[2], Hash: hash}, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
