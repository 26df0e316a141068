package journal

import (
	"fmt"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Verified begins the note on a settled job whose card was read back and holds what the
// job was to write.
const Verified = "verified"

// The states in which the tool has ended. The job itself ends a moment later.
const (
	Burned = "burned"
	Failed = "failed"
)

// Note is a note on a settled job in words for people.
func Note(how string) string {
	if how == Verified {
		return "read back: the card holds what was asked for"
	}
	return how
}

// Unknown is the percentage of a step that has none.
const Unknown = -1

// Step is how far a job is at one moment, for people who wait for it.
type Step struct {
	Time    time.Time
	Host    string
	PCI     ib.PCIAddress
	Name    string // the state of the job, how it ended, or what is done before and after it
	Percent int    // Unknown where the tool has printed none
	// Elapsed is how long the step has lasted so far; zero means unknown.
	Elapsed time.Duration
	// Text is what else is to be said. It takes the place of what comes next.
	Text string
}

// following says what comes after a state of a job, and when.
var following = map[string][2]string{
	"backup":    {"verify the two copies", "in some minutes"},
	"requested": {"take the lock of the host", "within a minute"},
	"locked":    {"compare the card with the request", "within seconds"},
	"inspected": {"start mstflint", "within seconds"},
	"burning":   {"read the card back", "in some minutes"},
	Burned:      {"read the card back and verify it", "within a minute"},
	Failed:      {"read what the flash holds", "within a minute"},
	"restart":   {"see the card run what was written", "in some minutes"},
}

// Next says what comes after the step, and when; both are empty after the last one.
func (s Step) Next() (what, when string) {
	next := following[s.Name]
	if left, known := s.Left(); known {
		next[1] = "in about " + left.String()
	}
	return next[0], next[1]
}

// Left is how long a burn still takes if it goes on as it did. The first percents say
// too little about that.
func (s Step) Left() (left time.Duration, known bool) {
	if s.Name != "burning" || s.Percent < 5 || s.Percent > 100 || s.Elapsed < time.Second {
		return 0, false
	}
	left = s.Elapsed * time.Duration(100-s.Percent) / time.Duration(s.Percent)
	return max(left.Round(5*time.Second), 5*time.Second), true
}

// String is one line: time, host, card, step, percent, and what comes next and when.
func (s Step) String() string {
	percent := ""
	if s.Percent != Unknown {
		percent = fmt.Sprintf("%d%%", s.Percent)
	}
	line := fmt.Sprintf("%s %s %s %-11s %4s  ", s.Time.UTC().Format(time.RFC3339), s.Host, s.PCI, s.Name, percent)
	what, when := s.Next()
	switch {
	case s.Text != "":
		line += s.Text
	case what != "":
		line += "next: " + what + ", " + when
	}
	return strings.TrimRight(oneLine.Replace(line), " ")
}
