package safety

import (
	"fmt"
	"strings"
)

// Rules about the configuration as a whole.
var _ = Register(
	Rule{Code: "HO030", Severity: Refuse, Title: "Two resources of the configuration manage it",
		Meaning: "Each apply would undo what the other resource asks for, without an end. Nothing was changed.",
		WayOut: "Keep one of the two blocks and remove the other one. If that one is in the state, take it out first, so that nothing is undone on the host: " +
			"terraform state rm and its address, or a removed block with lifecycle { destroy = false }."},
)

// Difference is an argument that two resources give different values, as text.
type Difference struct{ Argument, One, Other string }

// Twice is the finding on a second resource for one object. The two names of the
// object differ if its host has two.
func Twice(kind, name, other string, differ []Difference) Finding {
	var b strings.Builder
	fmt.Fprintf(&b, "Two %s resources are for %s", kind, name)
	if name != other {
		fmt.Fprintf(&b, ", which the other one calls %s", other)
	}
	b.WriteString(".")
	if host, alias := hostOf(name), hostOf(other); host != alias {
		fmt.Fprintf(&b, " Hosts %s and %s of the provider are one machine: it has one boot id, and the same cards.", host, alias)
	}
	if len(differ) == 0 {
		b.WriteString("\nAll their arguments are equal.")
	}
	for _, d := range differ {
		fmt.Fprintf(&b, "\n%s: %s here, %s in the other one.", d.Argument, d.One, d.Other)
	}
	return find("HO030", "%s", b.String())
}

func hostOf(name string) string {
	host, _, _ := strings.Cut(name, "/")
	return host
}
