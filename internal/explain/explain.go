// Package explain is an error with the text of its message: what happened, what it means,
// what to do, and the facts. Types that callers tell apart embed it.
//
// It must not know what failed, or where its text is shown.
package explain

import (
	"errors"
	"strings"
)

// Fact is a label and a value at the end of a message.
type Fact [2]string

// Failure is an error that explains itself. Its paragraphs are sentences. Without What its cause
// says what happened, and Means and Check follow on that.
type Failure struct { //nolint:errname // a type named Error hides its method of that name where it is embedded
	Summary string // begin of the one line of the error: "Unable to burn firmware on intel9/0000:01:00.0"
	Heading string // title of the message; set if it is not known whether the operation failed
	What    string // what happened
	Means   string // what it means
	Check   string // what to check or to do
	Facts   []Fact
	Err     error // the cause, if there is one
}

// Error gives one line.
func (e *Failure) Error() string {
	if e.What == "" && e.Summary == "" && e.Err != nil {
		return strings.Join(append([]string{strings.TrimSuffix(e.Err.Error(), ".") + "."}, e.Follows()...), " ")
	}
	s := e.Summary
	if s != "" && e.What != "" {
		s += ": "
	}
	s += e.What
	if e.Err != nil {
		s = strings.TrimSuffix(s, ".") + ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Failure) Unwrap() error { return e.Err }

// Title is the title of the message, or empty if that is the operation's. An error that only
// adds to its cause has the title of that.
func (e *Failure) Title() string {
	var cause interface{ Title() string }
	if e.Heading == "" && e.What == "" && errors.As(e.Err, &cause) {
		return cause.Title()
	}
	return e.Heading
}

// Follows are the paragraphs after what happened.
func (e *Failure) Follows() []string {
	var all []string
	for _, p := range []string{e.Means, e.Check} {
		if p != "" {
			all = append(all, p)
		}
	}
	return all
}

// Explain gives the message: the paragraphs, then the facts and the cause.
func (e *Failure) Explain() string {
	parts := e.Follows()
	if e.What != "" {
		parts = append([]string{e.What}, parts...)
	}
	var lines []string
	for _, f := range e.Facts {
		if v := strings.TrimSpace(f[1]); v != "" {
			lines = append(lines, f[0]+": "+v)
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
