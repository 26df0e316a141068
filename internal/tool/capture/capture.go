// Package capture loads outputs of tools that were captured on real cards, for
// the tests of the parsers: NAME.txt is the text, NAME.json beside it says
// where it comes from and what a careful reader finds in it.
//
// It must not be imported by anything but tests.
package capture

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"
)

// Capture is one output with its provenance.
type Capture struct {
	Name     string
	Text     string
	Tool     string         `json:"tool"`
	Command  string         `json:"command"`
	Card     string         `json:"card"`
	Source   string         `json:"source"`
	Complete bool           `json:"complete"` // false: cut or edited by its publisher
	Notes    string         `json:"notes"`
	Expected map[string]any `json:"expected"` // what is printed, by field
}

// Load reads all captures of a directory, at least one.
func Load(t *testing.T, dir fs.FS) []Capture {
	t.Helper()
	names, err := fs.Glob(dir, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatal("no captures")
	}
	all := make([]Capture, 0, len(names))
	for _, name := range names {
		all = append(all, load(t, dir, name))
	}
	return all
}

func load(t *testing.T, dir fs.FS, name string) Capture {
	t.Helper()
	about, err := fs.ReadFile(dir, name)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(name, ".json")
	text, err := fs.ReadFile(dir, base+".txt")
	if err != nil {
		t.Fatal(err)
	}
	c := Capture{Name: path.Base(base), Text: string(text)}
	if err := json.Unmarshal(about, &c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if c.Source == "" || c.Expected == nil {
		t.Fatalf("%s: want source and expected", name)
	}
	return c
}

// Plain turns a value into what encoding/json would read back, for comparing
// with Expected.
func Plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}
