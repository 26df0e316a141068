package adoption

import (
	"strings"
	"testing"
)

// What keeps the same object of three hosts out is said once, with the names of all. What
// differs in more than names, or can be adopted with a change, is said of each.
func TestFiles_say_once_what_is_not_adopted(t *testing.T) {
	t.Parallel()
	guids := func(host, pci, chip string) *Object {
		id := host + "/" + pci
		return &Object{Type: guidsType, Name: host, Host: host, ID: id, Reason: &Problem{
			Summary: "Refusing to set GUIDs of card " + id + ": GU014 GUIDs of this chip cannot be set",
			Detail:  "The card " + pci + " of " + host + " is a " + chip + "."}}
	}
	offered := func(host string) *Object {
		o := manager(host, nil)
		o.Reason, o.offer = &Problem{Summary: "An apply would change it"}, form{}
		return o
	}
	f := &Lab{objects: []*Object{guids("a", "0000:01:00.0", "ConnectX-4"), guids("b.x", "0000:41:00.0", "ConnectX-4"),
		guids("c", "0000:01:00.0", "ConnectX-4"), guids("d", "0000:01:00.0", "ConnectX-5"), offered("a"), offered("c")}}
	cards := strings.ReplaceAll(string(f.Files()["cards.tf"]), "\n# ", " ")
	for text, n := range map[string]int{"GU014": 2, "Not adopted: infiniband_guids a/0000:01:00.0.": 1,
		"The same is said of b.x/0000:41:00.0, c/0000:01:00.0.": 1, "Not adopted: infiniband_guids d/0000:01:00.0.": 1} {
		if got := strings.Count(cards, text); got != n {
			t.Errorf("%d times %q, want %d, in\n%s", got, text, n, cards)
		}
	}
	if fabric := string(f.Files()["fabric.tf"]); strings.Count(fabric, "# Not adopted: infiniband_opensm") != 2 {
		t.Error(fabric)
	}
	if readme := f.Readme(""); strings.Count(readme, "GU014") != 2 ||
		!strings.Contains(readme, "- `infiniband_guids` `a/0000:01:00.0`, `b.x/0000:41:00.0`, `c/0000:01:00.0`: ") {
		t.Error(readme)
	}
}
