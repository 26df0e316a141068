package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// size is what one package has. Lines are those of Go and shell; comments are lines of Go that
// hold nothing else.
type size struct {
	name                                  string // below internal/; "." is the root
	files, lines, goLines                 int
	comments, findings, errors, explained int
}

// outside are files that are in no binary that is shipped: tests, labs, and what measures,
// generates or demonstrates.
var outside = regexp.MustCompile(`_test\.go$|^internal/(labsim|testbed|reallab|acctest|archtest|bench|demo|ibsimtest|` +
	`tools|realtool)/|schemadump/|/testdata/`)

var (
	aFinding = regexp.MustCompile(`Code: "[A-Z]{2}[0-9]{3}"`)
	anError  = regexp.MustCompile(`(?m)^func \(\w* ?\*?\w+\) Error\(\) string`)
	explains = regexp.MustCompile(`(?m)^func \(\w* ?\*?\w+\) Explain\(`)
)

// measure gives the sizes of the packages of the product, by name.
func measure(root string) ([]size, error) {
	found := map[string]*size{}
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != "." {
			return fs.SkipDir
		}
		if d.IsDir() || !isProduct(name) {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		pkg := strings.TrimPrefix(path.Dir(name), "internal/")
		if found[pkg] == nil {
			found[pkg] = &size{name: pkg}
		}
		found[pkg].add(text, path.Ext(name) == ".go")
		return err
	})
	sizes := make([]size, 0, len(found))
	for _, s := range found {
		sizes = append(sizes, *s)
	}
	slices.SortFunc(sizes, func(a, b size) int { return strings.Compare(a.name, b.name) })
	return sizes, err
}

// isProduct reports whether a file is code or a script of the product.
func isProduct(name string) bool {
	kind := path.Ext(name)
	return (name == "main.go" || strings.HasPrefix(name, "internal/")) && (kind == ".go" || kind == ".sh") &&
		!outside.MatchString(name)
}

func (s *size) add(text []byte, code bool) {
	n := bytes.Count(text, []byte("\n"))
	s.files, s.lines = s.files+1, s.lines+n
	if !code {
		return
	}
	s.goLines += n
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			s.comments++
		}
	}
	s.findings += len(aFinding.FindAll(text, -1))
	s.errors += len(anError.FindAll(text, -1))
	s.explained += len(explains.FindAll(text, -1))
}

func sum(sizes []size) (all size) {
	for _, s := range sizes {
		all.files, all.lines, all.goLines = all.files+s.files, all.lines+s.lines, all.goLines+s.goLines
		all.comments, all.findings = all.comments+s.comments, all.findings+s.findings
		all.errors, all.explained = all.errors+s.errors, all.explained+s.explained
	}
	return all
}
