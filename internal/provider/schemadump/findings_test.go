package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/schemadump/symptom"
)

// Each message leads to the section of its finding: the registry makes the anchor of a
// heading as GitHub does.
func TestAddress_isThatOfASection(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/guides/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for line := range strings.Lines(string(page)) {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			plain := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading), "")
			sections[strings.ReplaceAll(plain, " ", "-")] = heading
		}
	}
	for _, r := range finding.All() {
		at, anchor, _ := strings.Cut(r.Address(), "#")
		if at != "https://registry.terraform.io/providers/ibfabric/infiniband/latest/docs/guides/findings" ||
			!strings.HasPrefix(sections[anchor], r.Code+": ") {
			t.Errorf("%s leads to %s", r.Code, r.Address())
		}
		if !strings.HasSuffix(r.Find("").Detail(), " Finding: "+r.Code+", "+r.Address()) {
			t.Errorf("%s does not name its section", r.Code)
		}
	}
}

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
			chapter := strings.Contains(whole, "](#"+finding.Anchor(f.Title)+")")
			for _, r := range f.Rules {
				row := strings.Contains(text, "| ["+r.Code+"](#"+finding.Anchor(r.Heading())+") | "+r.Title+" | ")
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
