package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the page are files that a browser's tools can read
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/check"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric/picture"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	page = template.Must(template.New("page").Parse(pageText))
)

// view is what the page is made of.
type view struct {
	Made    string
	Policy  string // Content-Security-Policy
	Style   template.CSS
	Script  template.JS
	Tiles   []tile
	Unseen  *table
	Issues  []*issue
	Fabrics []fabricView
	Results []*table
	Tables  []*table
}

// tile is a number of the summary; Mark colours it.
type tile struct {
	Number int
	Of     string
	Mark   string
}

type fabricView struct {
	Title, From string
	Picture     template.HTML
	Tables      []*table
}

// page is the whole page. Nothing of it comes from elsewhere, and the policy forbids what did.
func (l *lab) page(now time.Time) ([]byte, error) {
	v := view{Made: date(now), Unseen: l.unseen(), Issues: l.issues(), Tables: l.tables(), Results: l.benchmarkTables(),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'", hash(style), hash(script)),
		Style:  template.CSS(style), Script: template.JS(script)} //nolint:gosec // files of this package
	for i, f := range l.Fabrics {
		v.Fabrics = append(v.Fabrics, fabricView{Title: f.title(len(l.Fabrics)), From: f.From,
			Picture: template.HTML(picture.SVG(f.Fabric, nil)), //nolint:gosec // picture quotes all names
			Tables:  f.tables(fmt.Sprintf("fabric%d", i+1))})
	}
	v.Tiles = l.tiles(v.Issues)
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("the page cannot be made: %w", err)
	}
	return b.Bytes(), nil
}

// hash is how a policy names what stands in the page itself.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func (f *seenFabric) title(of int) string {
	if of == 1 {
		return "Fabric"
	}
	return "Fabric " + f.ID.String()
}

func (l *lab) tiles(issues []*issue) []tile {
	cards, cables, slow := 0, 0, 0
	for _, m := range l.Hosts {
		cards += len(m.cards())
	}
	for _, f := range l.Fabrics {
		cables += len(f.Links)
		for _, k := range f.Links {
			if k.Degraded() || stateOf(k) != "Active" {
				slow++
			}
		}
	}
	counted := map[check.Status]int{}
	for _, i := range issues {
		counted[i.Severity] += i.Places
	}
	all := []tile{{Number: len(l.Hosts), Of: "host"}, {len(l.unseen().Rows), "host not seen", "bad"},
		{Number: cards, Of: "card"}, {Number: len(l.Fabrics), Of: "fabric"}, {Number: cables, Of: "cable"},
		{slow, "cable to look at", "warn"},
		{counted[check.Missing], "thing missing", "bad"}, {counted[check.Warning], "warning", "warn"}}
	for i := range all {
		t := &all[i]
		if t.Number == 0 {
			t.Mark = ""
		}
		if first, rest, _ := strings.Cut(t.Of, " "); t.Number != 1 {
			t.Of = strings.TrimSpace(first + "s " + rest)
		}
	}
	return all
}

// List names all places of a case.
func (c issueCase) List() string { return strings.Join(c.Where, ", ") }
