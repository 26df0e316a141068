package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/check"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// issue is one thing that is to be looked at, with all places where it is so: it grows with
// what is wrong, and not with the hosts.
type issue struct {
	Severity check.Status // Missing, Warning or Note
	Code     string       // of a finding; empty if it is none
	Address  string       // of its section in the documentation; empty without a code
	Title    string
	Cases    []issueCase
	Places   int
}

// issueCase is what is said of some places, with what to do.
type issueCase struct {
	Where  []string
	Detail string
}

// issues are all of a lab, the gravest first.
func (l *lab) issues() []*issue {
	all := issueList{}
	for _, m := range l.Hosts {
		if m.Snap == nil {
			continue // it stands among the hosts that were not seen
		}
		for _, s := range m.Steps {
			if s.Status != check.Good {
				all.add(s.Status, s.Finding, cmp.Or(findingTitle(s), s.Text),
					strings.TrimSpace(m.Name+" "+s.Card), s.Detail)
			}
		}
		if m.Unsure != "" {
			all.add(check.Warning, "", "Changes may be missing", m.Name, diagnostic.Sentence(m.Unsure))
		}
	}
	for _, f := range l.Fabrics {
		for _, d := range f.differences() {
			all.add(check.Warning, "", fabricTitles[d.Kind], diagnostic.Line(d.Where), d.Message)
		}
	}
	for _, p := range l.Unseen {
		all.add(check.Warning, "", "A fabric was not seen", p.Where, p.Text)
	}
	for _, o := range l.odd() {
		if o.PCI != "" {
			all.add(check.Warning, "", "A card differs from equal cards", o.Host, o.String())
		} else {
			all.add(check.Note, "", "A host differs from equal hosts", o.Host, o.String())
		}
	}
	return all.sorted()
}

// findingTitle is how all places are headed that have the same finding.
func findingTitle(s check.Step) string {
	if r := ruleOf(s.Finding); r != nil {
		return r.Title
	}
	return ""
}

func ruleOf(code string) *finding.Rule {
	all := finding.All()
	if i := slices.IndexFunc(all, func(r *finding.Rule) bool { return r.Code == code }); i >= 0 {
		return all[i]
	}
	return nil
}

// fabricTitles say in a few words what kind of difference a fabric has.
var fabricTitles = map[string]string{
	fabric.Degraded: "A link is slower than it could be", fabric.Silent: "Nothing answers at the other end of a link",
	fabric.Inactive: "A link is not Active", fabric.Errors: "A port counts errors", fabric.NoLink: "A port has no link",
	fabric.NoManager: "No subnet manager rules a fabric", fabric.Duplicate: "Two ports have one GUID",
	fabric.ZeroGUID: "A GUID is zero", fabric.Masters: "More than one subnet manager rules a fabric",
}

func (f *seenFabric) differences() []fabric.Difference {
	return f.Compare(nil, fabric.DefaultLimits(), nil)
}

type issueList map[[3]string]*issue

func (l issueList) add(severity check.Status, code, title, where, detail string) {
	key := [3]string{string(severity), code, title}
	i := l[key]
	if i == nil {
		i = &issue{Severity: severity, Code: code, Title: diagnostic.Line(title)}
		if r := ruleOf(code); r != nil {
			i.Address = r.Address()
		}
		l[key] = i
	}
	i.Places++
	if code != "" { // its section is linked in the title
		detail, _, _ = strings.Cut(detail, "Finding: "+code)
	}
	detail = strings.TrimSpace(diagnostic.Plain(detail))
	at := slices.IndexFunc(i.Cases, func(c issueCase) bool { return c.Detail == detail })
	if at < 0 {
		i.Cases, at = append(i.Cases, issueCase{Detail: detail}), len(i.Cases)
	}
	if c := &i.Cases[at]; !slices.Contains(c.Where, where) {
		c.Where = append(c.Where, where)
	}
}

func (l issueList) sorted() []*issue {
	order := []check.Status{check.Missing, check.Warning, check.Note}
	return slices.SortedFunc(maps.Values(l), func(a, b *issue) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity)),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Title, b.Title))
	})
}
