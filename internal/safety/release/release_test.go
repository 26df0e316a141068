package release

import (
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		tool, version, format string
		want                  Grade
	}{
		{"mstflint", "4.14.0", "FS2", Works},
		{"mstflint", "4.21.0", "FS2", Works},
		{"mstflint", "4.26.0", "FS2", Works},
		{"mstflint", "4.29.0", "FS2", Unproven},
		{"mstflint", "4.30.0", "FS2", Crashes},
		{"mstflint", "4.36.0", "FS2", Crashes},
		{"mstflint", "4.36.0", "FS4", Works},
		{"mstflint", "4.6.0", "FS2", TooOld},
		{"mstflint", "4.13.1", "FS3", TooOld},
		{"mstflint", "3.9.0", "FS4", TooOld},
		{"mstflint", "4.14.0", "FS4", Works},
		{"mstflint", "five", "FS2", Unread},
		{"mstflint", "", "FS2", Unread},
		{"mstconfig", "4.25.0", "FS2", Works},
		{"mstconfig", "4.26.0", "FS2", Removed},
		{"mstconfig", "4.26.0", "FS3", Works},
	} {
		got, why := Check(c.tool, c.version, c.format)
		if got != c.want || why == "" {
			t.Errorf("%s %s for %s: grade %d (%s), want %d", c.tool, c.version, c.format, got, why, c.want)
		}
	}
}
