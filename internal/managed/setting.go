package managed

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Setting is one setting of an object, told once: a plan says in what the host differs, and an apply
// what somebody has changed since then. Values are words; an empty one says that it is not set.
type Setting struct {
	Tells    string // begins a sentence on the value now: "it may negotiate"
	Had, Has string // the halves of one on a change: "it could negotiate", "can negotiate"
	Was      string // the value at the last look; as now if it was not read then
	Is       string // the value now
	Want     string // the value that is asked for
	// Fine are other values that take nothing from anybody, such as what a driver sets that is
	// loaded anew.
	Fine []string
}

// Differences says of each setting that is not as asked for what it is, one line each.
func Differences(all ...Setting) (lines []string) {
	for _, s := range all {
		if s.Is != s.Want {
			lines = append(lines, s.Tells+" "+s.Is)
		}
	}
	return lines
}

// Changed says what somebody has changed since the last look, but for what is asked for, one line
// for each setting.
func Changed(all ...Setting) (lines []string) {
	for _, s := range all {
		if s.Is != s.Was && s.Is != s.Want && !slices.Contains(s.Fine, s.Is) {
			lines = append(lines, s.Had+" "+cmp.Or(s.Was, "not set")+" and "+s.Has+" "+cmp.Or(s.Is, "not set"))
		}
	}
	return lines
}

// Since refuses to undo what somebody has changed since the last look, on which the plan rests.
// subject begins the sentence: "Port 1 of card 0000:01:00.0 of nas has changed".
func Since(subject string, changed ...string) []finding.Finding {
	if len(changed) == 0 {
		return nil
	}
	return []finding.Finding{finding.ChangedSincePlan.Find("%s: %s.", subject, strings.Join(changed, "; "))}
}
