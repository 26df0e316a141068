package journal

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func TestStep_is_one_line(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, s := range map[string]Step{
		"requested         next: take the lock of the host, within a minute": {Name: "requested", Percent: Unknown},
		"burning           next: read the card back, in some minutes":        {Name: "burning", Percent: Unknown},
		"burning       3%  next: read the card back, in some minutes": {Name: "burning", Percent: 3,
			Elapsed: time.Minute},
		"burning      25%  next: read the card back, in about 3m0s": {Name: "burning", Percent: 25, Elapsed: time.Minute},
		"burning     100%  next: read the card back, in about 5s":   {Name: "burning", Percent: 100, Elapsed: time.Minute},
		"burned      100%  next: read the card back and verify it, within a minute": {Name: "burned", Percent: 100,
			Elapsed: time.Hour},
		"verified    100%":            {Name: "verified", Percent: 100},
		"refused           two lines": {Name: "refused", Percent: Unknown, Text: "two\nlines"},
	} {
		s.Time, s.Host, s.PCI = at, "nas", ib.MustParsePCIAddress("0000:01:00.0")
		if got, all := s.String(), "2026-01-02T03:04:05Z nas 0000:01:00.0 "+want; got != all {
			t.Errorf("got  %q\nwant %q", got, all)
		}
	}
}

// Each state that a job notes, but for the last ones, says what follows.
func TestStep_follows_the_states_of_a_job(t *testing.T) {
	for _, name := range strings.Fields("backup requested locked inspected burning burned failed restart") {
		if what, when := (Step{Name: name}).Next(); what == "" || when == "" {
			t.Errorf("after %s comes %q, %q", name, what, when)
		}
	}
}

// The lines in the guide are those that are printed.
func TestStep_as_the_guide_shows_it(t *testing.T) {
	text, err := os.ReadFile("../../../templates/guides/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, s := range []Step{
		{Time: at, Name: "locked", Percent: Unknown},
		{Time: at.Add(30 * time.Second), Name: "burning", Percent: 20, Elapsed: 30 * time.Second},
		{Time: at.Add(150 * time.Second), Name: "burned", Percent: 100},
		{Time: at.Add(160 * time.Second), Name: Verified, Percent: 100,
			Text: Note(Verified)},
	} {
		s.Host, s.PCI = "intel9", ib.MustParsePCIAddress("0000:01:00.0")
		if !strings.Contains(string(text), s.String()+"\n") {
			t.Errorf("the guide lacks %s", s)
		}
	}
}
