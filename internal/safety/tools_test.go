package safety

import (
	"testing"
)

func TestCheckTool(t *testing.T) {
	for _, c := range []struct {
		tool, version, format string
		want                  ToolSupport
	}{
		{"mstflint", "4.14.0", "FS2", ToolWorks},
		{"mstflint", "4.21.0", "FS2", ToolWorks},
		{"mstflint", "4.26.0", "FS2", ToolWorks},
		{"mstflint", "4.29.0", "FS2", ToolUnproven},
		{"mstflint", "4.30.0", "FS2", ToolCrashes},
		{"mstflint", "4.36.0", "FS2", ToolCrashes},
		{"mstflint", "4.36.0", "FS4", ToolWorks},
		{"mstflint", "4.6.0", "FS2", ToolTooOld},
		{"mstflint", "4.13.1", "FS3", ToolTooOld},
		{"mstflint", "3.9.0", "FS4", ToolTooOld},
		{"mstflint", "4.14.0", "FS4", ToolWorks},
		{"mstflint", "five", "FS2", ToolUnread},
		{"mstflint", "", "FS2", ToolUnread},
		{"mstconfig", "4.25.0", "FS2", ToolWorks},
		{"mstconfig", "4.26.0", "FS2", ToolRemoved},
		{"mstconfig", "4.26.0", "FS3", ToolWorks},
	} {
		got, why := CheckTool(c.tool, c.version, c.format)
		if got != c.want || why == "" {
			t.Errorf("%s %s for %s: grade %d (%s), want %d", c.tool, c.version, c.format, got, why, c.want)
		}
	}
}

func TestSupport_mstflint(t *testing.T) {
	card, s := goodCard(), goodHost().Support
	if got := s.mstflint(card); got != "For ConnectX-3 and ConnectX-3 Pro mstflint 4.25 or older is best. "+s.Mstflint {
		t.Errorf("ConnectX-3: %q", got)
	}
	card.Chip.Format = "FS4"
	if got := s.mstflint(card); got != s.Mstflint {
		t.Errorf("a later card: %q", got)
	}
}
