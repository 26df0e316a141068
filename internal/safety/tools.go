package safety

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// ToolSupport says how well a release of a vendor tool works with a generation of
// chips.
type ToolSupport int

// The grades.
const (
	ToolWorks ToolSupport = iota
	ToolUnproven
	ToolCrashes
	ToolRemoved
	ToolTooOld
	ToolUnread // its version is not known
)

// ToolRule is one line of the table of tool releases against formats.
type ToolRule struct {
	Tool   string // "mstflint", "mstconfig"
	Format string // of the chip: "FS2"
	From   string // first release with this behaviour, "4.30"
	Grade  ToolSupport
	Why    string
}

// tooOld says why releases before 4.14 are not used: their tables have other columns
// (21 wide in 4.6, 23 by 4.14), and this provider was not tested with them.
const tooOld = "releases before 4.14 print in another layout, with which this provider was never tried"

// ToolTable holds what is known, newest behaviour last. Sources: mstflint's
// own history (ConnectX-3 left mstconfig in 4.26.0) and the reports collected
// in its issues 590 and 1157: `mstflint q` ends with a segmentation fault on
// ConnectX-3 from 4.30 on, and has been seen to run again from 4.35 on, through
// another way of access than the usual one. Nothing is known against any
// release for later chips that it knows at all.
var ToolTable = []ToolRule{
	{Tool: "mstflint", Format: "FS2", From: "0", Grade: ToolTooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS2", From: "4.14", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS3", From: "0", Grade: ToolTooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS3", From: "4.14", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS4", From: "0", Grade: ToolTooOld, Why: tooOld},
	{Tool: "mstflint", Format: "FS4", From: "4.14", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstflint", Format: "FS2", From: "4.29", Grade: ToolUnproven,
		Why: "it prints fields of ConnectX-3 from uninitialised memory"},
	{Tool: "mstflint", Format: "FS2", From: "4.30", Grade: ToolCrashes,
		Why: "it has been seen to crash on ConnectX-3 and ConnectX-3 Pro"},
	{Tool: "mstflint", Format: "FS2", From: "4.35", Grade: ToolCrashes,
		Why: "releases from 4.30 on crash on ConnectX-3; this one is only known to work through the card's configuration " +
			"space"},
	{Tool: "mstconfig", Format: "FS2", From: "0", Grade: ToolWorks, Why: "supported"},
	{Tool: "mstconfig", Format: "FS2", From: "4.26", Grade: ToolRemoved,
		Why: "its support of ConnectX-3 was removed in 4.26.0"},
}

// Support is what is known of a host's distribution that matters for a card.
type Support struct {
	Mstflint string // which package of mstflint suits the card, as a sentence
	Lspci    string // how lspci is installed, as a sentence
	NoDriver string // why kernels of the host have no driver for the card; empty if nothing is known against them
}

// mstflint says which package to install for a card.
func (s Support) mstflint(card CardFacts) string {
	if card.Chip.Format == "FS2" {
		return "For ConnectX-3 and ConnectX-3 Pro mstflint 4.25 or older is best. " + s.Mstflint
	}
	return s.Mstflint
}

// CheckTool gives the grade of a tool's release for a chip format, and why.
// A version that cannot be read is no reason to trust the tool.
func CheckTool(tool, version, format string) (ToolSupport, string) {
	if version == "" {
		return ToolUnread, "it did not say which version it is"
	}
	if _, ok := release(version); !ok {
		return ToolUnread, fmt.Sprintf("%q is not a version that can be compared", version)
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
