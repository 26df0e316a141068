package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// render opens a page in a browser and gives what the page is when its script has run. No
// distribution but Debian has the browser as a package, so no machine is required to.
func render(t *testing.T, page, fragment string) document {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if browser == "" {
			browser = realtool.Find(name)
		}
	}
	if browser == "" {
		t.Skip("no Chromium is installed: the script of the page does not run")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "lab.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	dom, status := realtool.Run(t, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir,
		"--virtual-time-budget=5000", "--dump-dom", "file://"+file+fragment)
	if status != 0 {
		t.Fatalf("status %d: %s", status, dom)
	}
	return parse(t, dom)
}

func hidden(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if _, is := attribute(n, "hidden"); is {
			return true
		}
	}
	return false
}

// In a browser the policy lets the page's own script run and nothing of a hostile host; the search
// leaves the rows that have all words, opens their tables, and marks the node in the picture.
func TestPage_searches_in_a_browser(t *testing.T) {
	w, hosts := troubled(t)
	page := run(t, w, hosts).page
	still, shown := parse(t, page), render(t, page, "")
	checkHarmless(t, shown)
	field := func(d document) *html.Node { return all(d.root, "input")[0] }
	if !hidden(field(still)) || hidden(field(shown)) {
		t.Error("the field to search is there without the script, or is not there with it")
	}
	found := render(t, page, "#q=NODE002%20differs")
	checkHarmless(t, found)
	for _, tr := range all(found.root, "tr") {
		if _, row := attribute(tr, "data-row"); row && !hidden(tr) {
			t.Errorf("a row without both words is shown: %s", text(tr))
		}
	}
	visible := 0
	for _, n := range issues(found) {
		if _, open := attribute(n, "open"); !hidden(n) {
			visible++
			if !open || !strings.Contains(text(n), "node002 0000:01:00.0: the firmware in flash is 2.36.5000") {
				t.Errorf("shown: %s", text(n))
			}
		}
	}
	if visible != 1 || text(all(found.root, "output")[0]) != "1 found" {
		t.Errorf("%d findings, %s", visible, text(all(found.root, "output")[0]))
	}
	for fragment, want := range map[string]string{"#q=node002": "node002", "#q=0xe41d2d0300e44ef0": "node002"} {
		hits, d := 0, render(t, page, fragment)
		for _, g := range all(d.root, "g") {
			if class, _ := attribute(g, "class"); class == "hit" {
				hits++
				if !strings.HasPrefix(text(g), want) {
					t.Errorf("%s marks %s", fragment, text(g))
				}
			}
		}
		if hits == 0 {
			t.Errorf("%s marks nothing", fragment)
		}
	}
}
