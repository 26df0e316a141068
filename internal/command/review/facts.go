package review

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// review is what the Markdown says.
type review struct {
	Saved     bool // there is a saved plan
	Refused   bool
	Partial   bool // targets or deferred changes leave something out
	Verbs     []string
	Cards     []row
	Others    []row
	Drift     []row
	Effects   []effect
	Consents  []consent
	Unsaid    []string // resources of whose consents the plan does not say all
	Missing   []consent
	Findings  []found
	Foreign   int // changes of other providers
	Quiet     int // messages of other providers
	Outputs   int
	Texts     bool     // whether the texts of findings are shown
	Left      []string // rows that are left out
	Unlogged  bool     // there is no log, so no warnings
	Unchanged bool
	Unseen    bool // hosts did not answer
}

// found is a message of a plan. Rule is nil if it has no code.
type found struct {
	diagnostic
	Rule *finding.Rule
}

// Kind is the weight of the message.
func (f found) Kind() string {
	if f.Rule != nil && f.Severity == "error" {
		return f.Rule.Severity.String()
	}
	return f.Severity
}

var codeLine = regexp.MustCompile(`(?m)^ Finding: ([A-Z]{2}\d{3}),`)

// review gathers what is to be said.
func (in *input) review() *review {
	r := &review{Saved: in.plan != nil, Unlogged: !in.logged}
	for _, d := range in.diagnostics {
		r.Unseen = r.Unseen || strings.HasPrefix(d.Summary, "Not seen: ")
		r.add(d)
	}
	byPlace := func(d diagnostic) string { return d.Severity + "\x00" + d.Address + "\x00" + d.Summary } // errors first
	slices.SortStableFunc(r.Findings, func(a, b found) int {
		return cmp.Compare(byPlace(a.diagnostic), byPlace(b.diagnostic))
	})
	slices.SortStableFunc(r.Missing, func(a, b consent) int { return cmp.Compare(a.Address, b.Address) })
	if in.plan != nil {
		r.ofPlan(in.plan)
	}
	return r
}

// add takes a message. One of another provider is counted, unless it stops the plan.
func (r *review) add(d diagnostic) {
	r.Refused = r.Refused || d.Severity == "error"
	f := found{diagnostic: d}
	if m := codeLine.FindStringSubmatch(d.Detail); m != nil {
		if i := slices.IndexFunc(finding.All(), func(o *finding.Rule) bool { return o.Code == m[1] }); i >= 0 {
			f.Rule = finding.All()[i]
		}
	}
	if f.Rule == nil && d.Severity != "error" && d.Address != "" && !strings.Contains(d.Address, "infiniband_") {
		r.Quiet++
		return
	}
	r.Findings = append(r.Findings, f)
	if f.Rule == nil || f.Rule.Severity != finding.NeedsConsent || d.Severity != "error" {
		return
	}
	if lines := finding.LinesAllowed(d.Detail); len(lines) > 0 {
		r.Missing = append(r.Missing, consent{Address: d.Address, Argument: f.Rule.Code,
			Value: finding.Allow + " = { " + strings.Join(lines, ", ") + " }"})
	}
}

// ofPlan takes what the saved plan has.
func (r *review) ofPlan(p *plan) {
	r.Refused = r.Refused || p.Errored
	r.Partial = !r.Refused && p.Complete != nil && !*p.Complete
	r.ofResources(p)
	for i := range p.Drift {
		if one := &p.Drift[i]; one.changes() && isOurs(one.Type) {
			r.Drift = append(r.Drift, one.named(one.differences(nil))...)
		}
	}
	for _, o := range p.Outputs {
		if !slices.Equal(o.Actions, []string{"no-op"}) {
			r.Outputs++
		}
	}
	for _, rows := range [][]row{r.Cards, r.Others, r.Drift} {
		arrange(rows)
	}
}

// ofResources takes what changes, and counts it.
func (r *review) ofResources(p *plan) {
	verbs := map[string]int{}
	for i := range p.Changes {
		switch one := &p.Changes[i]; {
		case !one.changes():
		case !isOurs(one.Type):
			r.Foreign++
		default:
			verbs[one.verb()]++
			r.ofResource(p, one)
		}
	}
	for _, verb := range slices.Sorted(maps.Keys(verbs)) {
		r.Verbs = append(r.Verbs, fmt.Sprintf("%d %s", verbs[verb], verb))
	}
	r.Unchanged = !r.Refused && len(verbs) == 0
}

// ofResource takes what changes of one object.
func (r *review) ofResource(p *plan, one *resource) {
	at := p.placeOf(one)
	if rows := one.rows(at.written); one.isOfCard() {
		r.Cards = append(r.Cards, rows...)
	} else {
		r.Others = append(r.Others, rows...)
	}
	r.ofConsents(p, at)
	told := steps(one.planned())
	for _, e := range effects {
		if e[0] == "stored_in" && len(told) > 0 {
			continue // change says more
		}
		for _, l := range leaves("", member(one.Change.After, e[0]), member(one.Change.Unknown, e[0]), nil) {
			r.Effects = append(r.Effects, effect{one.Address, e[1], l.text})
		}
	}
	// With "host" the infiniband_activation is destroyed before, and the restore restarts the host itself.
	if one.restores() && textOf(one.Change.Before, "activation") != "none" {
		host, _, _ := strings.Cut(one.object(), "/")
		r.Effects = append(r.Effects, effect{one.Address, "restarts", host})
	}
	for _, e := range told {
		r.Effects = append(r.Effects, effect{one.Address, e.What, e.Values})
	}
}

// ofConsents takes what a resource is allowed, once for all its objects.
func (r *review) ofConsents(p *plan, at place) {
	said, open := p.consents(at)
	for _, c := range said {
		if !slices.Contains(r.Consents, c) {
			r.Consents = append(r.Consents, c)
		}
	}
	if open && !slices.Contains(r.Unsaid, at.address) {
		r.Unsaid = append(r.Unsaid, at.address)
	}
}

// arrange puts the rows of one object together, and names it in the first of them.
func arrange(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.Object, b.Object) })
	last := ""
	for i := range rows {
		if rows[i].Object == last {
			rows[i].Object, rows[i].Identity = "", ""
		} else {
			last = rows[i].Object
		}
	}
}
