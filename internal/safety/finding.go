package safety

import (
	"fmt"
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

// Finding is one reason for or against an action.
type Finding struct {
	Code     string // stable, "FW023"; its meaning is in the Catalogue
	Severity Severity
	Summary  string // one line without the card's name
	Evidence string // what was observed
	WayOut   string // what to do about it
	// Attribute is the attribute of the resource that the finding belongs to; may be empty.
	Attribute string
	// Consent is the literal line of configuration that allows it; empty if nothing does.
	Consent string
}

// Detail gives the text of a diagnostic: evidence, meaning, way out, the line
// to add, and the code.
func (f Finding) Detail() string {
	var b strings.Builder
	b.WriteString(f.Evidence)
	if rule, ok := Lookup(f.Code); ok && rule.Meaning != "" {
		b.WriteString("\n\n" + rule.Meaning)
	}
	if f.WayOut != "" {
		b.WriteString("\n\n" + f.WayOut)
	}
	if f.Consent != "" {
		b.WriteString("\n\n    " + f.Consent)
	}
	b.WriteString("\n\nFinding: " + f.Code)
	return strings.TrimLeft(b.String(), "\n")
}

// Rule is the entry of one code in the catalogue. The documentation page of
// findings is generated from it.
type Rule struct {
	Code     string
	Severity Severity // the severity without consent
	Title    string   // the usual Summary
	Meaning  string   // why it matters
	WayOut   string   // the usual way out
	// ConsentAttribute is the attribute whose expected value allows it; empty if none does.
	ConsentAttribute string
	// Attribute is the attribute that a diagnostic points at; empty for the whole resource.
	Attribute string
}

// Find makes a finding of the rule with the given evidence.
func (r Rule) Find(format string, args ...any) Finding {
	return Finding{
		Code: r.Code, Severity: r.Severity, Summary: r.Title,
		Evidence: fmt.Sprintf(format, args...), WayOut: r.WayOut, Attribute: r.Attribute,
	}
}

// find is Rule.Find for a code of this package's own tables.
func find(code, format string, args ...any) Finding {
	rule, ok := Lookup(code)
	if !ok {
		// A code without an entry is a mistake of this package that its tests
		// show; refusing is the only safe reading of it.
		return Finding{Code: code, Severity: Refuse, Summary: "Unknown finding", Evidence: fmt.Sprintf(format, args...)}
	}
	return rule.Find(format, args...)
}

func (f Finding) way(s string) Finding        { f.WayOut = s; return f }
func (f Finding) on(attribute string) Finding { f.Attribute = attribute; return f }
func (f Finding) consent(line string) Finding { f.Consent = line; return f }
func (f Finding) granted(format string) Finding {
	f.Severity, f.Summary, f.WayOut = Note, format, ""
	return f
}
