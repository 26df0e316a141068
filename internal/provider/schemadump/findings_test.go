package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

// Whoever looks below the name of a resource finds each of its findings, and no other:
// alone with its title, or in a chapter. No line is a wall of links.
func TestIndex_by_resource(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeIndex(&b)
	for _, place := range symptom.Places() {
		_, text, found := strings.Cut(b.String(), "\n#### "+place.Resource+"\n")
		if !found {
			t.Fatalf("no heading %s", place.Resource)
		}
		text, _, _ = strings.Cut(text, "\n##")
		whole, _, _ := strings.Cut(text, "| Finding ")
		for _, f := range finding.Families {
			chapter := strings.Contains(whole, "](#"+anchorOf(f.Title)+")")
			for _, r := range f.Rules {
				row := strings.Contains(text, "| ["+r.Code+"](#"+anchor(r)+") | "+r.Title+" | ")
				leads := row || chapter && !strings.Contains(whole, "["+r.Code+"]")
				if want := slices.Contains(place.Rules, r); leads != want {
					t.Errorf("%s leads to %s: %t, want %t", place.Resource, r.Code, leads, want)
				}
			}
		}
		for line := range strings.Lines(text) {
			if n := strings.Count(line, "](#"); n > 8 {
				t.Errorf("%s has a line of %d links", place.Resource, n)
			}
		}
	}
}
