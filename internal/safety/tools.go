package safety

import (
	"fmt"
	"strconv"
	"strings"
)

// ToolSupport says how a release of a vendor tool gets on with a generation
// of chips.
type ToolSupport int

// The grades.
const (
	ToolWorks ToolSupport = iota
	ToolUnproven
	ToolCrashes
	ToolRemoved
)

// ToolRule is one line of the table of tool releases against formats.
type ToolRule struct {
	Tool   string // "mstflint", "mstconfig"
	Format string // of the chip: "FS2"
	From   string // first release with this behaviour, "4.30"
	Grade  ToolSupport
	Why    string
}

// ToolTable holds what is known, newest behaviour last. Sources: mstflint's
// own history (ConnectX-3 left mstconfig in 4.26.0) and the reports collected
// in its issues 590 and 1157: `mstflint q` ends with a segmentation fault on
// ConnectX-3 from 4.30 on, and runs again in some set-ups from 4.35 on.
var ToolTable = []ToolRule{
	{Tool: "mstflint", Format: "FS2", From: "0", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS2", From: "4.29", Grade: ToolUnproven, Why: "it prints fields of ConnectX-3 from uninitialised memory"},
	{Tool: "mstflint", Format: "FS2", From: "4.30", Grade: ToolCrashes, Why: "it has been seen to crash on ConnectX-3 and ConnectX-3 Pro"},
	{Tool: "mstconfig", Format: "FS2", From: "0", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstconfig", Format: "FS2", From: "4.26", Grade: ToolRemoved, Why: "its support of ConnectX-3 was removed in 4.26.0"},
}

// fs2PackageAdvice says which package to install for FS2 chips.
const fs2PackageAdvice = "For ConnectX-3 and ConnectX-3 Pro use mstflint 4.25 or older: Debian 12 has 4.21.0+1-1, which also installs on Ubuntu 24.04 " +
	"(apt install ./mstflint_4.21.0+1-1_amd64.deb), and Rocky Linux 9.4 has 4.25.0-1. Ubuntu 24.04's own 4.26.0 burns these cards but cannot configure them."

// CheckTool gives the grade of a tool's release for a chip format, and why.
// An unreadable version is unproven.
func CheckTool(tool, version, format string) (ToolSupport, string) {
	if _, ok := release(version); !ok {
		return ToolUnproven, fmt.Sprintf("its version %q is not understood", version)
	}
	grade, why := ToolWorks, "nothing known against it"
	for _, r := range ToolTable {
		if r.Tool == tool && r.Format == format && atLeast(version, r.From) {
			grade, why = r.Grade, r.Why
		}
	}
	return grade, why
}

func atLeast(version, from string) bool {
	v, _ := release(version)
	f, _ := release(from)
	return v >= f
}

// release turns "4.21.0" into a number that orders by major and minor.
func release(s string) (int, bool) {
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if minor == "" {
		minor = "0"
	}
	a, err := strconv.Atoi(major)
	if err != nil {
		return 0, false
	}
	b, err := strconv.Atoi(minor)
	if err != nil {
		return 0, false
	}
	return a*10000 + b, true
}
