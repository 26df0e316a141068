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
			"terraform state rm and its address, or a removed block with lifecycle { destroy = false }. To destroy both, use terraform destroy -refresh=false."},
	Rule{Code: "HO031", Severity: Warn, Title: "Two resources of the configuration adopt it",
		Meaning: "That does no harm: adopting a card changes nothing on it, and both resources show the same values.",
		WayOut:  "Keep one of the two blocks, so that each card has one name in the configuration."},
)

// Rules about hosts of the configuration.
var _ = Register(
	Rule{Code: "HO032", Severity: Warn, Title: "Host has two names in the configuration",
		Meaning: "Its cards were found twice, once under each name. They are compared as one card each. Resources under both names can change one card.",
		WayOut: "Keep one of the two entries of the provider's hosts. Write its key into all resources. What is in the state under the other key: take it out with " +
			"terraform state rm and import it under the key that stays."},
)

// Difference is an argument that two resources give different values, as text.
type Difference struct{ Argument, One, Other string }

// Twice is the finding on a second resource for one object. The two names of the
// object differ if its host has two.
func Twice(kind, name, other string, differ []Difference) Finding {
	var b strings.Builder
	b.WriteString(both(kind, name, other))
	if len(differ) == 0 {
		b.WriteString("\nAll their arguments are equal.")
	}
	for _, d := range differ {
		fmt.Fprintf(&b, "\n%s: %s here, %s in the other one.", d.Argument, d.One, d.Other)
	}
	return find("HO030", "%s", b.String())
}

// Shared is the finding on a second resource where two do no harm.
func Shared(kind, name, other string) Finding {
	return find("HO031", "%s", both(kind, name, other))
}

func both(kind, name, other string) string {
	text := fmt.Sprintf("Two %s resources are for %s", kind, name)
	if name != other {
		text += ", which the other one calls " + other
	}
	text += "."
	if host, alias := hostOf(name), hostOf(other); host != alias {
		text += " " + OneMachine(host, alias)
	}
	return text
}

// OneMachine says that two names of the provider's hosts are one machine.
func OneMachine(host, alias string) string {
	return fmt.Sprintf("Hosts %s and %s of the provider are one machine: they have one boot id and the same cards.", host, alias)
}

func hostOf(name string) string {
	host, _, _ := strings.Cut(name, "/")
	return host
}
