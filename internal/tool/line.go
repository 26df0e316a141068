// Package tool holds what the parsers of all tools share: lines and the error
// that names one. Each tool has a package of its own below this one, with the
// builders of its commands and the readers of its output.
//
// It must not run anything and must not know a particular tool.
package tool

import (
	"fmt"
	"iter"
	"regexp"
	"strings"
)

// LineError says which line of an output was not understood.
type LineError struct {
	Number  int // from 1; 0 if the output as a whole is meant
	Text    string
	Problem string
}

func (e *LineError) Error() string {
	if e.Number == 0 {
		return e.Problem
	}
	if secret.MatchString(e.Text) {
		return fmt.Sprintf("line %d: %s (the line may hold a password and is not shown)", e.Number, e.Problem)
	}
	return fmt.Sprintf("line %d: %s: %q", e.Number, e.Problem, shorten(e.Text))
}

// secret matches the names that network configurations give to what is secret.
var secret = regexp.MustCompile(`(?i)psk|passw|passphrase|secret|wep|private[-_]?key|\bpin\b|\bkey\b`)

// Errorf makes a LineError.
func Errorf(number int, text, format string, args ...any) error {
	return &LineError{Number: number, Text: text, Problem: fmt.Sprintf(format, args...)}
}

// Lines yields the lines of text with their numbers from 1, without line ends.
// A carriage return before the line end is dropped.
func Lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			if !yield(n, strings.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

func shorten(s string) string {
	const most = 120
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
