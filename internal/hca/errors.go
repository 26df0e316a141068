package hca

import (
	"strings"
)

// Fact is a labelled value at the end of an error's text.
type Fact struct{ Name, Value string }

// Error is a failure of an operation on a card. Its paragraphs are those of a
// diagnostic; Err is what caused it, if anything did.
type Error struct {
	Summary string // "Unable to burn firmware on intel9/0000:01:00.0"
	Heading string // of a diagnostic, where the operation did not fail: its end is not known
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

// Title is the summary of a diagnostic, or empty if that is the operation's.
func (e *Error) Title() string { return e.Heading }

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
