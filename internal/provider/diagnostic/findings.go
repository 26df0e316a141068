package diagnostic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// AddFindings makes diagnostics of findings: what blocks becomes an error
// "Refusing to <what>: <CODE> …" at the attribute that it belongs to, warnings
// become warnings, notes go to the log only. what is verb, thing and identity,
// because Terraform folds warnings with equal summaries. It reports whether
// anything blocks.
func AddFindings(ctx context.Context, diags *diag.Diagnostics, what string, findings []finding.Finding) (blocked bool) {
	for _, f := range finding.TogetherAllowed(joinWarnings(findings)) {
		switch f.Severity {
		case finding.Refuse, finding.NeedsConsent:
			blocked = true
			addRefusal(diags, what, f)
		case finding.Warn:
			_, thing, _ := strings.Cut(what, " ")
			summary := fmt.Sprintf("%s: %s %s", Capital(thing), f.Rule.Code, f.Summary)
			add(f, diags.AddAttributeWarning, diags.AddWarning, summary)
		case finding.Note:
			tflog.Info(ctx, Plain(f.Summary), map[string]any{"code": f.Rule.Code, "evidence": Plain(f.Evidence), "about": what})
		}
	}
	return blocked
}

// AddPlanned is AddFindings for a plan. It shows what differs on a host in observe mode too, which is how a nightly
// plan finds it; the apply is refused.
func AddPlanned(ctx context.Context, diags *diag.Diagnostics, what string, findings []finding.Finding) (blocked bool) {
	findings = slices.Clone(findings)
	for i := range findings {
		if findings[i].Rule == finding.HostObserved {
			findings[i].Severity = finding.Warn
		}
	}
	return AddFindings(ctx, diags, what, findings)
}

// joinWarnings makes one warning of those of a rule that have one summary. The engine shows
// the first of several warnings with the same summary only, and "1 more similar warning".
func joinWarnings(findings []finding.Finding) []finding.Finding {
	var all []finding.Finding
	for _, f := range findings {
		i := slices.IndexFunc(all, func(other finding.Finding) bool {
			return f.Severity == finding.Warn && other.Severity == finding.Warn && other.Rule == f.Rule &&
				other.Summary == f.Summary && other.Consent == f.Consent
		})
		if i < 0 {
			all = append(all, f)
			continue
		}
		all[i].Evidence += "\n" + f.Evidence
		if !strings.Contains(all[i].WayOut, f.WayOut) {
			all[i].WayOut += "\n" + f.WayOut
		}
	}
	return all
}

// addRefusal adds a finding that blocks. Some name what is refused themselves.
func addRefusal(diags *diag.Diagnostics, what string, f finding.Finding) {
	summary := fmt.Sprintf("Refusing to %s: %s %s", what, f.Rule.Code, f.Summary)
	if strings.HasPrefix(f.Summary, "Refusing ") {
		_, thing, _ := strings.Cut(what, " ")
		summary = fmt.Sprintf("%s: %s %s", f.Summary, f.Rule.Code, thing)
	}
	add(f, diags.AddAttributeError, diags.AddError, summary)
}

// AddBlocking is AddFindings for those that block, for a validation that will be
// followed by a plan that shows the others.
func AddBlocking(ctx context.Context, diags *diag.Diagnostics, what string, findings []finding.Finding) {
	AddFindings(ctx, diags, what, safety.Blockers(findings))
}

func add(f finding.Finding, at func(path.Path, string, string), whole func(string, string), summary string) {
	if f.Attribute == "" {
		whole(summary, f.Detail())
		return
	}
	at(attributePath(f.Attribute), summary, f.Detail())
}

// attributePath reads "ports.1" as element "1" of the map ports.
func attributePath(s string) path.Path {
	parts := strings.Split(s, ".")
	p := path.Root(parts[0])
	for _, key := range parts[1:] {
		p = p.AtMapKey(key)
	}
	return p
}

// AddPostponed warns that a check waits for apply, when what it needs is known.
func AddPostponed(diags *diag.Diagnostics, what, why string) {
	diags.AddWarning("Checked at apply: "+what,
		"The plan does not know yet what this depends on: "+why+
			". The apply makes the checks before it changes anything. If one of them fails, it refuses.")
}

// AddPartlyPostponed warns that a part of the checks waits for apply.
func AddPartlyPostponed(diags *diag.Diagnostics, what, why, checks string) {
	diags.AddWarning("Checked at apply: "+what,
		"The plan does not know "+why+" yet. It has checked the host and what it knows of the settings.\n\n"+
			"Not checked yet: "+checks+". The apply makes the checks before it changes anything. If one of them fails, it "+
			"refuses.")
}

// AddForgotten warns that destroying a resource leaves its object as it is.
func AddForgotten(diags *diag.Diagnostics, thing, identity, stays string) {
	diags.AddWarning(fmt.Sprintf("Left as it is: %s %s", thing, identity), stays)
}

// Capital begins a text with a capital letter.
func Capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// AddNotes adds one warning that holds what an operation wants the operator to
// know; nothing if that is nothing.
func AddNotes(diags *diag.Diagnostics, what string, notes []string) {
	if len(notes) > 0 {
		diags.AddWarning(what, strings.Join(notes, "\n"))
	}
}

// WithoutJobs drops the finding on unsettled jobs, because AddJobs says more about
// them.
func WithoutJobs(findings []finding.Finding) []finding.Finding {
	return slices.DeleteFunc(slices.Clone(findings),
		func(f finding.Finding) bool { return f.Rule == finding.FlashJobUnsettled })
}
