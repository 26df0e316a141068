package adoption

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// waits are the warnings of a plan whose apply would fail now, by their codes. What is
// written must not only plan, it must apply.
var waits = map[string]*wait{
	finding.OpensmPortWithoutLink.Code: {why: "Its port has no link, so an apply would fail",
		until: "When the port has a link"},
	finding.InterfaceNotActivated.Code: {why: "NetworkManager does not activate it now, so an apply would fail",
		until:     "When a subnet manager serves the port",
		meanwhile: "Until then the interface and its definition stay as they are."},
}

// waitFor keeps an object out of what is taken over, if the plan warns that the apply of it
// would fail now. Its resource stays a comment, with what becomes of the object meanwhile.
func (o *Object) waitFor() {
	for _, w := range o.warnings {
		for code, it := range waits {
			if !w.of(code) {
				continue
			}
			o.waits = it
			evidence, _, _ := strings.Cut(w.Detail, "\n\n")
			rest := strings.Replace(o.Reason.Detail, "\n\n"+evidence, "", 1)
			o.Reason = &Problem{Summary: it.why + " (" + code + ")", Detail: paragraphs(evidence, it.meanwhile, o.left, rest)}
		}
	}
}

// of reports whether the problem is a finding of the rule of a code.
func (p Problem) of(code string) bool { return strings.Contains(p.Summary, " "+code+" ") }

// warns reports whether the plan of an object warns by a rule.
func (o *Object) warns(rule *finding.Rule) bool {
	return slices.ContainsFunc(o.warnings, func(w Problem) bool { return w.of(rule.Code) })
}

// paragraphs joins those that say something.
func paragraphs(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "\n\n")
}
