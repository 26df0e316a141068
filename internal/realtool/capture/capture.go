// Package capture loads outputs of tools that were captured on real cards, for
// the tests of the parsers: NAME.txt is the text, NAME.json beside it says
// where it comes from and what a careful reader finds in it.
//
// It must not be imported by anything but tests.
package capture

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
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
	// Variation is how Text was changed; empty: not at all.
	Variation string `json:"-"`
}

// Folder is the environment variable that names a folder of more captures, with
// a directory for each tool. Those are read as well, so that a parser can be held
// to captures that are not in the repository.
const Folder = "INFINIBAND_CORPUS"

// Load reads all captures of a directory, at least one, and those of other names
// that Folder has in the directory of that tool.
func Load(t *testing.T, dir fs.FS, of ...string) []Capture {
	t.Helper()
	all := read(t, dir)
	folder := os.Getenv(Folder)
	if folder == "" || len(of) == 0 {
		return all
	}
	known := map[string]bool{}
	for _, c := range all {
		known[c.Name] = true
	}
	more := 0
	for _, c := range read(t, os.DirFS(filepath.Join(folder, of[0]))) {
		if !known[c.Name] {
			all = append(all, c)
			more++
		}
	}
	t.Logf("%s: %d captures of the repository, %d more of the folder", of[0], len(all)-more, more)
	return all
}

// Variation is a change of an output that means nothing.
type Variation struct {
	Name   string
	Change func(string) string
}

// Layout are the changes of white space that tools, terminals and publishers make:
// a parser reads the same out of all of them.
var Layout = []Variation{
	{"CRLF", func(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n") }},
	{"blanks at the ends of lines", func(s string) string { return strings.ReplaceAll(s, "\n", "  \n") }},
	{"empty lines around", func(s string) string { return "\n" + strings.TrimRight(s, "\n") + "\n\n\n" }},
	{"no end of the last line", func(s string) string { return strings.TrimRight(s, "\n") }},
}

// WithVariations adds to each capture what it becomes by each variation.
func WithVariations(all []Capture, variations ...Variation) []Capture {
	var more []Capture
	for _, c := range all {
		more = append(more, c)
		for _, v := range variations {
			changed := c
			changed.Text, changed.Variation = v.Change(c.Text), v.Name
			more = append(more, changed)
		}
	}
	return more
}

// NamesALine holds that a parser which refuses an output names the line that
// was not understood.
func NamesALine(t *testing.T, name string, err error) {
	t.Helper()
	var at *tool.LineError
	if !errors.As(err, &at) || at.Number == 0 {
		t.Errorf("%s is not refused with the number of a line: %v", name, err)
	}
}

func read(t *testing.T, dir fs.FS) []Capture {
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
