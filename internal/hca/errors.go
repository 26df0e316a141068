package hca

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Fact is a labelled value at the end of an error's text.
type Fact struct{ Name, Value string }

// Error is a failure of an operation on a card. Its paragraphs are those of a
// diagnostic; Err is what caused it, if anything did.
type Error struct {
	Summary string // "Unable to burn firmware on intel9/0000:01:00.0"
	What    string // what happened
	Means   string // what it means for the card
	Check   string // what to check or to do
	Facts   []Fact
	Err     error
}

// Error gives one line.
func (e *Error) Error() string {
	s := e.Summary
	if e.What != "" {
		s += ": " + e.What
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Explain gives the detail of a diagnostic: the paragraphs, then the facts.
func (e *Error) Explain() string {
	var parts []string
	for _, p := range []string{e.What, e.Means, e.Check} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	var lines []string
	for _, f := range e.Facts {
		if v := strings.TrimSpace(f.Value); v != "" {
			lines = append(lines, f.Name+": "+v)
		}
	}
	if e.Err != nil {
		lines = append(lines, "Error: "+e.Err.Error())
	}
	if len(lines) > 0 {
		parts = append(parts, strings.Join(lines, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

// RefusedError says that the verdict does not permit an operation. Unless Written
// says otherwise, nothing was written. The findings are for the caller to show, each on its attribute.
type RefusedError struct {
	What    string // "burn firmware on intel9/0000:01:00.0"
	Verdict safety.Verdict
	// Written says that the flash was written before, and that only what follows
	// is refused.
	Written bool
}

// Error names the blocking findings.
func (e *RefusedError) Error() string {
	var codes []string
	for _, f := range e.Verdict.Blocking() {
		codes = append(codes, f.Code+" "+f.Summary)
	}
	return "refusing to " + e.What + ": " + strings.Join(codes, "; ")
}

// Explain gives all blocking findings with their details.
func (e *RefusedError) Explain() string {
	var parts []string
	for _, f := range e.Verdict.Blocking() {
		parts = append(parts, f.Summary+"\n"+f.Detail())
	}
	if e.Written {
		parts = append(parts, "The flash is written and verified; the host was not restarted, and the card runs what it ran before.")
	} else {
		parts = append(parts, "Nothing was written to the card.")
	}
	return strings.Join(parts, "\n\n")
}
