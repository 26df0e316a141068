package safety

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// RefusedError says that a check found reasons against an operation at the
// moment of it. Unless Done says otherwise, none of it was done.
type RefusedError struct {
	What     string // verb, thing and identity: "burn firmware on card intel9/0000:01:00.0"
	Findings []finding.Finding
	// Done says what was done before, if only the restart that should follow is
	// refused: "The flash is written and verified".
	Done string
	// Resumed says that the commands have run which give back what was drained for that restart.
	Resumed bool
}

// Error names what blocks, with its evidence.
func (e *RefusedError) Error() string {
	var reasons []string
	for _, f := range Blockers(e.Findings) {
		reasons = append(reasons, f.Rule.Code+" "+f.Summary+": "+f.Evidence)
	}
	return "refusing to " + e.What + ": " + strings.Join(reasons, "; ")
}

// Blockers gives the findings that stop the operation, each with what the
// refusal leaves behind.
func (e *RefusedError) Blockers() []finding.Finding {
	left := "The change was not made."
	if e.Done != "" {
		left = e.Done + "; the host was not restarted, and the card runs what it ran before."
	}
	if e.Resumed {
		left += " The resume commands have run."
	}
	blocking := Blockers(e.Findings)
	for i := range blocking {
		blocking[i].Evidence += "\n\n" + left
	}
	return blocking
}

// Blockers gives the findings that stop an operation.
func Blockers(findings []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool { return !f.Severity.Blocks() })
}

// Refusal is nil, or *RefusedError if one of the findings blocks.
func Refusal(what string, findings []finding.Finding) error {
	if len(Blockers(findings)) == 0 {
		return nil
	}
	return &RefusedError{What: what, Findings: findings}
}
