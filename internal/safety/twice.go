package safety

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// Difference is an argument that two resources give different values, as text.
type Difference struct{ Argument, One, Other string }

// Twice is the finding on a second resource for one object. The two names of the
// object differ if its host has two.
func Twice(kind, name, other string, differ []Difference) finding.Finding {
	var b strings.Builder
	b.WriteString(both(kind, name, other))
	if len(differ) == 0 {
		b.WriteString("\nAll their arguments are equal.")
	}
	for _, d := range differ {
		fmt.Fprintf(&b, "\n%s: %s here, %s in the other one.", d.Argument, d.One, d.Other)
	}
	return finding.ManagedTwice.Find("%s", b.String())
}

// SharedFinding is the finding on a second resource where two do no harm.
func SharedFinding(kind, name, other string) finding.Finding {
	return finding.AdoptedTwice.Find("%s", both(kind, name, other))
}

func both(kind, name, other string) string {
	text := fmt.Sprintf("Two %s resources are for %s", kind, name)
	if name != other {
		text += ", which the other one calls " + other
	}
	text += "."
	if host, alias := hostOf(name), hostOf(other); host != alias {
		text += " " + oneMachine(host, alias)
	}
	return text
}

// oneMachine says that two names of the provider's hosts are one machine.
func oneMachine(host, alias string) string {
	return fmt.Sprintf("Hosts %s and %s of the provider are one machine: they have one boot id and the same cards.", host,
		alias)
}

func hostOf(name string) string {
	host, _, _ := strings.Cut(name, "/")
	return host
}
