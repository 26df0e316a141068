package platform

import (
	"context"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/savedfile"
)

// Edit is a file of ours in which somebody has written.
type Edit struct {
	Path string
	// Added are the lines that our text of the same settings does not have, without the values
	// of units and programs.
	Added []string
	// Missing are those that only our text has.
	Missing []string
	// Kept is where the file stays when it is replaced or removed.
	Kept string
	// marks tell the added lines apart whose values are not shown; empty for the others.
	marks []string
}

// EditsOf compares a file with what we would write of the same settings. No edit if it is that or is not ours.
func EditsOf(path, text, ours string) []Edit {
	if text == ours || !IsOurs(text) {
		return nil
	}
	is, want := linesOf(text), linesOf(ours)
	e := Edit{Path: path, Added: without(is, want), Missing: without(want, is), Kept: savedfile.NameOf(path, text)}
	e.marks = make([]string, len(e.Added))
	if strings.HasPrefix(ours, "#!") || strings.Contains(ours, "\n[") {
		for i, line := range e.Added {
			if e.Added[i] = withoutValue(line); e.Added[i] != line {
				e.marks[i] = fmt.Sprintf("%s%04x", mark, crc32.ChecksumIEEE([]byte(line))&0xffff) // as of tool.Setting
			}
		}
	}
	return []Edit{e}
}

// CheckEdits names what somebody has written into files that an apply writes anew.
func CheckEdits(host string, all []Edit) (found []finding.Finding) {
	for _, e := range all {
		found = append(found, finding.FileEdited.Find("%s", e.Evidence(host)))
	}
	return found
}

// mark stands before a mark. No line of a text file has it.
const mark = "\x00"

// assigned is a setting of a unit or a variable of a program, in a comment too; sensitive is
// the name of a secret in any other line.
var (
	assigned  = regexp.MustCompile(`^([#;\s]*(?:export\s+)?["']?[\w.-]+)\s*\+?=.*`)
	sensitive = regexp.MustCompile(`(?i)([\w-]*(?:passw|passphrase|secret|token|credential|authorization|key)[\w-]*).*`)
)

// withoutValue is a line of a unit or a program without what may be a password.
func withoutValue(line string) string {
	for _, form := range []*regexp.Regexp{assigned, sensitive} {
		if form.MatchString(line) {
			return form.ReplaceAllString(line, "$1 (value not shown)")
		}
	}
	return line
}

func linesOf(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// without are the lines that others do not have.
func without(lines, others []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(others, line) })
}

// namedLines is how many lines of a file a sentence names.
const namedLines = 20

// String says what differs, for a sentence.
func (e Edit) String() string {
	said := func(lines []string) string {
		text := strings.Join(lines[:min(len(lines), namedLines)], "; ")
		if more := len(lines) - namedLines; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		return text
	}
	switch {
	case len(e.Added) > 0:
		return e.Path + " also has: " + said(e.Added)
	case len(e.Missing) > 0:
		return e.Path + " lacks: " + said(e.Missing)
	}
	return e.Path + " has its lines in another order"
}

// Evidence says of a host what differs, and where the file will be kept.
func (e Edit) Evidence(host string) string {
	text := host + ": " + e.String() + "."
	if len(e.Added) > 0 {
		text += " The file will be kept as " + e.Kept + "."
	}
	return text
}

// AddedLines are the lines that somebody has added, each with its file, for NewLines.
func AddedLines(all []Edit) []string {
	var lines []string
	for _, e := range all {
		for i, line := range e.Added {
			lines = append(lines, e.Path+": "+line+e.marks[i])
		}
	}
	return lines
}

// NewLines says which lines were not there before.
func NewLines(now, before []string) []string {
	var all []string
	for _, line := range without(now, before) {
		line, _, _ = strings.Cut(line, mark)
		all = append(all, "new line in "+line)
	}
	return all
}

// KeptError is what failed after a file was kept: if the file was replaced, nothing on the host
// shows the edit any more.
type KeptError struct {
	Said string // where the file is
	Err  error
}

func (e *KeptError) Error() string { return e.Err.Error() + ". " + e.Said }

// Unwrap gives what failed.
func (e *KeptError) Unwrap() error { return e.Err }

// KeepEdited gives a file of ours that somebody has written into a second name, and says so in a sentence;
// in none if there is nothing to keep. The file stays in its place until the caller replaces or
// removes it: the replacement may find no space.
func KeepEdited(ctx context.Context, h host.Host, all []Edit, path string) (said []string, err error) {
	i := slices.IndexFunc(all, func(e Edit) bool { return e.Path == path && len(e.Added) > 0 })
	if i < 0 {
		return nil, nil
	}
	if _, err = h.Run(ctx, savedfile.Link(path, all[i].Kept)); err != nil {
		return nil, fmt.Errorf("keeping %s as %s: %w", path, all[i].Kept, err)
	}
	return []string{fmt.Sprintf("%s had lines that somebody has written. The file is kept as %s.", path, all[i].Kept)}, nil
}
