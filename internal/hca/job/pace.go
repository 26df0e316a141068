package job

import (
	"fmt"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// pace is how fast a burn goes, as far as this run has seen it.
type pace struct {
	began   time.Time // when the burn was first seen
	percent int       // how far it was then
	noted   string    // the last line that was noted
}

// step is how far a job is, if that is worth a line: each step is, and each tenth of the
// burn.
func (p *pace) step(out outcome, now time.Time) (s journal.Step, worth bool) {
	if out.Absent || len(out.States) == 0 {
		return s, false
	}
	s = journal.Step{Name: out.last(), Percent: journal.Unknown}
	switch {
	case s.Name == journal.Failed && !out.over():
		return s, false // why is known when the job itself ends, within a moment
	case out.done(), s.Name == journal.Burned && !out.over():
		s.Percent = 100
	case out.Ended:
		s.Text = out.Reason
		if out.wrote() {
			s.Text = out.endText()
		}
	case out.over():
		s.Name, s.Text = "interrupted", out.noEnd()
	case s.Name == "burning":
		s.Percent = mstflint.ParseSession(out.Output).Percent
		s.Elapsed = p.lasted(now, s.Percent)
	}
	// A burn prints hundreds of percentages; a log of an apply takes ten.
	key := fmt.Sprint(s.Name, s.Percent/10)
	worth, p.noted = key != p.noted, key
	return s, worth
}

// lasted is how long a burn has taken to come to a percentage. One that was first seen in
// its midst has gone on before as it did since.
func (p *pace) lasted(now time.Time, percent int) time.Duration {
	if p.began.IsZero() {
		p.began, p.percent = now, max(percent, 0)
	}
	if percent <= p.percent {
		return 0
	}
	// The wall clock of this machine, monotonic: that of the host may jump.
	return now.Sub(p.began) * time.Duration(percent) / time.Duration(percent-p.percent)
}
