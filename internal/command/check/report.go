package check

import (
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// status is how a step came out.
type status string

// The outcomes of a step.
const (
	good    status = "ok"
	note    status = "note"
	warning status = "warning"
	missing status = "missing"
	failed  status = "failed" // the host was not reached
)

// step is one thing that was looked at.
type step struct {
	Step    string `json:"step"`
	Status  status `json:"status"`
	Text    string `json:"text"`
	Source  string `json:"source,omitempty"`  // where it comes from
	Detail  string `json:"detail,omitempty"`  // what it means and what to do
	Finding string `json:"finding,omitempty"` // its code
}

// report is what is said of one host.
type report struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Outcome string `json:"outcome"`
	Steps   []step `json:"steps"`
}

// add notes a step. Parts of it may come from the host, so they are made harmless for a
// terminal.
func (r *report) add(s step) {
	s.Text, s.Source, s.Detail = diagnostic.Line(s.Text), diagnostic.Line(s.Source), diagnostic.Plain(s.Detail)
	r.Steps = append(r.Steps, s)
}

func (r *report) ok(name, text, source string) {
	r.add(step{Step: name, Status: good, Text: text, Source: source})
}

// find notes a finding once, in its own words. Several cards of a host may share one.
func (r *report) find(name string, f finding.Finding) {
	s := step{Step: name, Status: missing, Text: f.Summary, Detail: f.Detail(), Finding: f.Rule.Code}
	switch {
	case f.Severity == finding.Warn:
		s.Status = warning
	case !f.Severity.Blocks():
		s.Status = note
	}
	for _, had := range r.Steps {
		if had.Finding == s.Finding && had.Detail == diagnostic.Plain(s.Detail) {
			return
		}
	}
	r.add(s)
}

func (r *report) count(of status) (n int) {
	for _, s := range r.Steps {
		if s.Status == of {
			n++
		}
	}
	return n
}

// status is the exit status that a report alone would give.
func (r *report) status() int {
	switch {
	case r.count(failed) > 0:
		return command.Unreachable
	case r.count(missing) > 0:
		return command.Failed
	}
	return command.OK
}

// conclude says how it came out as a whole.
func (r *report) conclude() *report {
	switch n := r.count(missing); {
	case r.count(failed) > 0:
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
