package finding

import (
	"slices"
	"strings"
	"testing"
)

// What is copied from one refusal has all consents that the change needs, also those that are given
// already. A finding that no consent helps shows none.
func TestTogetherAllowed_one_argument_for_all(t *testing.T) {
	t.Parallel()
	psid := PSIDWouldChange.Find("A to B.").WithConsent(PSIDWouldChange.ConsentLine(`{ from = "A", to = "B" }`))
	older := VersionWouldBeOlder.Find("2 to 1.").WithConsent(VersionWouldBeOlder.ConsentLine(`{ from = "2", to = "1" }`))
	given := SessionOverCard.Find("enp1s0.").WithConsent(SessionOverCard.ConsentLine(Names("enp1s0"))).AsGranted("as allowed")
	again := DefaultRouteOverCard.Find("enp1s0.").WithConsent(given.Consent)
	refused := psid
	refused.Severity = Refuse
	const block = `

    allow = {
      psid_change     = { from = "A", to = "B" }
      downgrade       = { from = "2", to = "1" }
      management_path = ["enp1s0"]
    }

If the resource is in a module, pass this through an input variable of the module.

 Finding: `
	for i, f := range TogetherAllowed([]Finding{psid, older, given, again, refused}) {
		if asks := i < 2 || i == 3; strings.Contains(f.Detail(), block) != asks || strings.Contains(f.Detail(), "allow = ") != asks {
			t.Errorf("%d: %s", i, f.Detail())
		}
	}
	if text := psid.Detail(); !strings.Contains(text, "\n\n    allow = { psid_change = { from = \"A\", to = \"B\" } }\n\n") {
		t.Error(text)
	}
}

func TestLinesAllowed_reads_what_AllowLines_writes(t *testing.T) {
	t.Parallel()
	one, two := `psid_change = { from = "A", to = "B" }`, `management_path = ["a", "b = c"]`
	for _, lines := range [][]string{{one}, {one, two}, {two, one, `reinstall = "1"`}} {
		f := PSIDWouldChange.Find("x").WithConsent(one)
		f.Beside = lines
		if got := LinesAllowed(f.Detail()); !slices.Equal(got, lines) {
			t.Errorf("%q instead of %q", got, lines)
		}
	}
	if got := LinesAllowed("allow = { x = 1 }\n\n    other = { x = 1 }\n"); got != nil {
		t.Errorf("%q", got)
	}
}
