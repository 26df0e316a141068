package clash

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

// OneGoes is the finding on a plan that keeps one of two objects of the state that are one
// on the host, and destroys the other one.
func OneGoes(kind, name string) finding.Finding {
	f := finding.ManagedTwice.Find("The state has two objects %s for %s. This plan keeps one and destroys or replaces "+
		"the other one, which would remove what both of them manage.", kind, name)
	f.Summary = "Refusing to destroy what another object of the state manages"
	return f.WithWayOut("If the object that goes is of a resource of its own, run terraform state rm with its address: " +
		"then nothing is removed from the host. An import with the wrong id looks like this; import again with the right " +
		"one after that. If it is a deposed object of the resource that stays, run terraform state " +
		"rm with the address of that resource, and import the resource again. To remove it from the host, remove both.")
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

// SecondName is the finding on a host that has two names in the provider's hosts.
func SecondName(host, alias string) finding.Finding {
	return finding.HostHasTwoNames.Find("%s", oneMachine(host, alias))
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
