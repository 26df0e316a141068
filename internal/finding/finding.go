// Package finding is the catalogue of what may speak against an action: each Rule has a
// stable code, what it means and the way out, and a Finding is a rule with what was
// observed.
//
// It must not judge: which rule holds for which facts is decided by safety and by the
// packages of the objects.
package finding

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Severity orders findings; only the upper two block.
type Severity int

// The severities, mildest first.
const (
	Note Severity = iota
	Warn
	NeedsConsent
	Refuse
)

// String gives "note", "warning", "needs consent" or "refused".
func (s Severity) String() string {
	switch s {
	case Note:
		return "note"
	case Warn:
		return "warning"
	case NeedsConsent:
		return "needs consent"
	case Refuse:
		return "refused"
	}
	return fmt.Sprintf("severity %d", int(s))
}

// Blocks reports whether a finding of this severity stops the action.
func (s Severity) Blocks() bool { return s >= NeedsConsent }

// Rule is an entry of the catalogue. Each is a variable of this package and stands in
// Families; the documentation page of findings is generated from that list.
type Rule struct {
	Code     string   // stable, "FW023"
	Severity Severity // without consent
	Title    string   // the usual Summary
	Meaning  string   // why it matters
	WayOut   string   // the usual way out
	// Consent is the key of the argument allow whose expected value allows it; empty if none does.
	Consent string
	// Attribute is the attribute that a diagnostic points at; empty for the whole resource.
	Attribute string
}

// String gives the code.
func (r *Rule) String() string { return r.Code }

// Allow is the argument of a resource that holds all its consents.
const Allow = "allow"

// ConsentName is what texts call the consent: "allow.downgrade".
func (r *Rule) ConsentName() string { return Allow + "." + r.Consent }

// ConsentLine is the line of the argument allow that allows it.
func (r *Rule) ConsentLine(value string) string { return r.Consent + " = " + value }

// AllowLines is the argument with these lines of consents, as a configuration has it.
func AllowLines(lines ...string) string {
	if len(lines) == 1 {
		return Allow + " = { " + lines[0] + " }"
	}
	widest := 0
	for _, line := range lines {
		widest = max(widest, strings.Index(line, " = "))
	}
	var b strings.Builder
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " = ")
		fmt.Fprintf(&b, "\n  %-*s = %s", widest, key, value)
	}
	return Allow + " = {" + b.String() + "\n}"
}

var allowed = regexp.MustCompile(`(?ms)^ {4}` + Allow + ` = \{(?: ([^\n]*) \}|\n(.*?)\n {4}\})$`)

// LinesAllowed are the lines of consents in the text of a finding, as AllowLines writes them.
func LinesAllowed(detail string) (lines []string) {
	m := allowed.FindStringSubmatch(detail)
	if m == nil {
		return nil
	}
	for line := range strings.Lines(m[1] + m[2]) {
		key, value, _ := strings.Cut(line, "=")
		lines = append(lines, strings.TrimSpace(key)+" = "+strings.TrimSpace(value))
	}
	return lines
}

// Names is a list of names as a configuration writes it: ["enp1s0", "enp1s0d1"].
func Names(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// Find makes a finding of the rule with the given evidence.
func (r *Rule) Find(format string, args ...any) Finding {
	return Finding{
		Rule: r, Severity: r.Severity, Summary: r.Title,
		Evidence: fmt.Sprintf(format, args...), WayOut: r.WayOut, Attribute: r.Attribute,
	}
}

// Unread makes a finding of the rule whose fact could not be read. It weighs as much as the bad
// answer, and says that the fact is not known.
func (r *Rule) Unread(what, why string) Finding {
	f := r.Find("%s is not known: %s", what, why)
	f.Summary = what + " could not be read"
	return f.WithWayOut("Fix what kept it from being read, then plan again. " + f.WayOut)
}

// Finding is one reason for or against an action.
type Finding struct {
	Rule     *Rule
	Severity Severity
	Summary  string // one line without the card's name
	Evidence string // what was observed
	WayOut   string // what to do about it
	// Attribute is the attribute of the resource that the finding belongs to; may be empty.
	Attribute string
	// Consent is the line of the argument allow that allows it; empty if nothing does.
	Consent string
	// Beside are the lines of all consents of the change, which are written together.
	Beside []string
}

// Detail gives the text of a diagnostic: evidence, meaning, way out, the argument
// to write, the code, and the address of its section in the documentation.
func (f Finding) Detail() string {
	var b strings.Builder
	b.WriteString(f.Evidence)
	if f.Rule.Meaning != "" {
		b.WriteString("\n\n" + f.Rule.Meaning)
	}
	if f.WayOut != "" {
		b.WriteString("\n\n" + f.WayOut)
	}
	if f.Asks() {
		lines := f.Beside
		if len(lines) == 0 {
			lines = []string{f.Consent}
		}
		b.WriteString("\n\n    " + strings.ReplaceAll(AllowLines(lines...), "\n", "\n    ") +
			"\n\nIf the resource is in a module, pass this through an input variable of the module.")
	}
	// An engine breaks no line that begins with a blank.
	b.WriteString("\n\n Finding: " + f.Rule.Code + ", " + f.Rule.Address())
	return strings.TrimLeft(b.String(), "\n")
}

// WithWayOut replaces the usual way out.
func (f Finding) WithWayOut(s string) Finding { f.WayOut = s; return f }

// At points the diagnostic at another attribute.
func (f Finding) At(attribute string) Finding { f.Attribute = attribute; return f }

// WithConsent says which line of configuration allows it.
func (f Finding) WithConsent(line string) Finding { f.Consent = line; return f }

// Asks reports whether a consent would allow it.
func (f Finding) Asks() bool { return f.Severity == NeedsConsent && f.Consent != "" }

// TogetherAllowed writes the consents of one change as one argument: those that are missing
// beside those that are given, so that what is copied from one refusal is all that it needs.
func TogetherAllowed(all []Finding) []Finding {
	var lines []string
	for _, f := range all {
		key, _, _ := strings.Cut(f.Consent, " = ")
		if f.Consent != "" && !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+" = ") }) {
			lines = append(lines, f.Consent)
		}
	}
	out := slices.Clone(all)
	for i := range out {
		out[i].Beside = lines
	}
	return out
}

// AsGranted makes a note of what the configuration consents to.
func (f Finding) AsGranted(summary string) Finding {
	f.Severity, f.Summary, f.WayOut = Note, summary, ""
	return f
}
