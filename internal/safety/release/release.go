package release

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Grade says how well a release of a vendor tool works with a generation of
// chips.
type Grade int

// The grades.
const (
	Works Grade = iota
	Unproven
	Crashes
	Removed
	TooOld
	Unread // its version is not known
)

// Rule is one line of the table of tool releases against formats.
type Rule struct {
	Tool   string // "mstflint", "mstconfig"
	Format string // of the chip: "FS2"
	From   string // first release with this behaviour, "4.30"
	Grade  Grade
	Why    string
}

// tooOld says why releases before 4.14 are not used: their tables have other columns
// (21 wide in 4.6, 23 by 4.14), and this provider was not tested with them.
const tooOld = "releases before 4.14 print in another layout, with which this provider was never tried"

// Table holds what is known, newest behaviour last. Sources: mstflint's
// own history (ConnectX-3 left mstconfig in 4.26.0) and the reports collected
// in its issues 590 and 1157: `mstflint q` ends with a segmentation fault on
// ConnectX-3 from 4.30 on, and has been seen to run again from 4.35 on, through
// another way of access than the usual one. Nothing is known against any
// release for later chips that it knows at all.
var Table = []Rule{
	{Tool: "mstflint", Format: "FS2", From: "0", Grade: TooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS2", From: "4.14", Grade: Works, Why: "supported"},
	{Tool: "mstflint", Format: "FS3", From: "0", Grade: TooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS3", From: "4.14", Grade: Works, Why: "supported"},
	{Tool: "mstflint", Format: "FS4", From: "0", Grade: TooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS4", From: "4.14", Grade: Works, Why: "supported"},
	{Tool: "mstflint", Format: "FS2", From: "4.29", Grade: Unproven,
		Why: "it prints fields of ConnectX-3 from uninitialised memory"},
	{Tool: "mstflint", Format: "FS2", From: "4.30", Grade: Crashes,
		Why: "it has been seen to crash on ConnectX-3 and ConnectX-3 Pro"},
	{Tool: "mstflint", Format: "FS2", From: "4.35", Grade: Crashes,
		Why: "releases from 4.30 on crash on ConnectX-3; this one is only known to work through the card's configuration " +
			"space"},
	{Tool: "mstconfig", Format: "FS2", From: "0", Grade: Works, Why: "supported"},
	{Tool: "mstconfig", Format: "FS2", From: "4.26", Grade: Removed,
		Why: "its support of ConnectX-3 was removed in 4.26.0"},
}

// Check gives the grade of a tool's release for a chip format, and why.
// A version that cannot be read is no reason to trust the tool.
func Check(tool, version, format string) (Grade, string) {
	if version == "" {
		return Unread, "it did not say which version it is"
	}
	if _, ok := number(version); !ok {
		return Unread, fmt.Sprintf("%q is not a version that can be compared", version)
	}
	grade, why := Works, "nothing known against it"
	for _, r := range Table {
		if r.Tool == tool && r.Format == format && atLeast(version, r.From) {
			grade, why = r.Grade, r.Why
		}
	}
	return grade, why
}

func atLeast(version, from string) bool {
	v, _ := number(version)
	f, _ := number(from)
	return v >= f
}

// number turns "4.21.0" into a number that orders by major and minor.
func number(s string) (int, bool) {
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	minor = cmp.Or(minor, "0")
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
