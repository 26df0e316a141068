package acctest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Phase is when something was said.
type Phase string

// The phases of a run.
const (
	PhaseValidate Phase = "validate"
	PhaseRead     Phase = "read"
	PhasePlan     Phase = "plan"
	PhaseApply    Phase = "apply"
)

// Diag is one diagnostic with where and when it came up.
type Diag struct {
	Phase   Phase
	Address string // of the object, "infiniband_card.intel9", or "provider"
	Path    string // of the attribute, "ports.1"; empty if none
	Error   bool   // else a warning
	Summary string
	Detail  string
}

func (d Diag) String() string {
	kind := "warning"
	if d.Error {
		kind = "error"
	}
	return fmt.Sprintf("[%s] %s of %s at %q: %s\n    %s", d.Phase, kind, d.Address, d.Path, d.Summary,
		strings.ReplaceAll(d.Detail, "\n", "\n    "))
}

// Text is summary and detail in one.
func (d Diag) Text() string { return d.Summary + "\n" + d.Detail }

// Diags are all diagnostics of a run.
type Diags []Diag

func diagsOf(phase Phase, address string, list []*tfprotov6.Diagnostic) Diags {
	var out Diags
	for _, d := range list {
		out = append(out, Diag{
			Phase: phase, Address: address, Path: pathText(d.Attribute), Error: d.Severity == tfprotov6.DiagnosticSeverityError,
			Summary: d.Summary, Detail: d.Detail,
		})
	}
	return out
}

func pathText(p *tftypes.AttributePath) string {
	if p == nil {
		return ""
	}
	var steps []string
	for _, s := range p.Steps() {
		switch s := s.(type) {
		case tftypes.AttributeName:
			steps = append(steps, string(s))
		case tftypes.ElementKeyString:
			steps = append(steps, string(s))
		case tftypes.ElementKeyInt:
			steps = append(steps, strconv.FormatInt(int64(s), 10))
		default:
			steps = append(steps, "(element)")
		}
	}
	return strings.Join(steps, ".")
}

// HasError reports whether any of them is an error.
func (d Diags) HasError() bool { return len(d.Errors()) > 0 }

// Errors are the errors among them.
func (d Diags) Errors() Diags { return d.only(true) }

// Warnings are the warnings among them.
func (d Diags) Warnings() Diags { return d.only(false) }

func (d Diags) only(errors bool) Diags {
	var out Diags
	for _, one := range d {
		if one.Error == errors {
			out = append(out, one)
		}
	}
	return out
}

// Find gives the diagnostics whose text holds all of texts.
func (d Diags) Find(texts ...string) Diags {
	var out Diags
	for _, one := range d {
		if containsAll(one.Text(), texts) {
			out = append(out, one)
		}
	}
	return out
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

func (d Diags) String() string {
	lines := make([]string, len(d))
	for i, one := range d {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}
