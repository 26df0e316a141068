package check

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Status is how a step came out.
type Status string

// The outcomes of a step.
const (
	Good    Status = "ok"
	Note    Status = "note"
	Warning Status = "warning"
	Missing Status = "missing"
	Failed  Status = "failed" // the host was not reached
)

// Step is one thing that was looked at.
type Step struct {
	Step    string `json:"step"`
	Status  Status `json:"status"`
	Text    string `json:"text"`
	Source  string `json:"source,omitempty"`  // where it comes from
	Detail  string `json:"detail,omitempty"`  // what it means and what to do
	Finding string `json:"finding,omitempty"` // its code
	// Card is the card that it is about: PCI address and board; empty if that is the host, or several cards.
	Card string `json:"-"`
}

// Report is what is said of one host.
type Report struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Outcome string `json:"outcome"`
	Steps   []Step `json:"steps"`
}

// add notes a step. Parts of it may come from the host, so they are made harmless for a
// terminal.
func (r *Report) add(s Step) {
	s.Text, s.Source, s.Detail = diagnostic.Line(s.Text), diagnostic.Line(s.Source), diagnostic.Plain(s.Detail)
	r.Steps = append(r.Steps, s)
}

func (r *Report) ok(name, text, source string) {
	r.add(Step{Step: name, Status: Good, Text: text, Source: source})
}

// find notes a finding once, in its own words. Several cards of a host may share one.
func (r *Report) find(name, card string, f finding.Finding) {
	s := Step{Step: name, Card: card, Status: Missing, Text: f.Summary, Detail: f.Detail(),
		Finding: f.Rule.Code}
	switch {
	case f.Severity == finding.Warn:
		s.Status = Warning
	case !f.Severity.Blocks():
		s.Status = Note
	}
	for i := range r.Steps {
		if had := &r.Steps[i]; had.Finding == s.Finding && had.Detail == diagnostic.Plain(s.Detail) {
			had.Card = ""
			return
		}
	}
	r.add(s)
}

func (r *Report) count(of Status) (n int) {
	for _, s := range r.Steps {
		if s.Status == of {
			n++
		}
	}
	return n
}

// ExitStatus is the exit status that a report alone would give.
func (r *Report) ExitStatus() int {
	switch {
	case r.count(Failed) > 0:
		return command.Unreachable
	case r.count(Missing) > 0:
		return command.Failed
	}
	return command.OK
}

// conclude says how it came out as a whole.
func (r *Report) conclude() *Report {
	switch n := r.count(Missing); {
	case r.count(Failed) > 0:
		r.Outcome = "not reached"
	case n == 1:
		r.Outcome = "reached, 1 thing is missing"
	case n > 1:
		r.Outcome = fmt.Sprintf("reached, %d things are missing", n)
	default:
		r.Outcome = "ready"
	}
	return r
}
