package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxFileLines = 400
	maxFuncLines = 60
	// A schema, a catalogue or a long list of simulated programs is one literal
	// without logic.
	maxLiteralLines = 70
	maxCyclomatic   = 12
	// A simulated program is mostly one switch over the flags it knows.
	maxCyclomaticLab = 20
)

type source struct {
	path string // from the root of the module
	text []byte
	file *ast.File
	fset *token.FileSet
}

// sources parses every non-test Go file of the product.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2)) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("../..", path)
		all = append(all, source{path: filepath.ToSlash(rel), text: text, file: file, fset: fset})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d source files; the walk is wrong", len(all))
	}
	return all
}

func TestBudget_files(t *testing.T) {
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte("\n")); n > maxFileLines {
			t.Errorf("%s has %d lines; at most %d", s.path, n, maxFileLines)
		}
	}
}

// A resource's resource.go holds the moves, not the work.
func TestBudget_resourceFiles(t *testing.T) {
	for _, s := range sources(t) {
		if filepath.Base(s.path) == "resource.go" {
			if n := bytes.Count(s.text, []byte("\n")); n > 250 {
				t.Errorf("%s has %d lines; at most 250", s.path, n)
			}
		}
	}
}

func TestBudget_functions(t *testing.T) {
	for _, s := range sources(t) {
		limit := maxFuncLines
		if base := filepath.Base(s.path); strings.HasPrefix(base, "schema") || strings.HasPrefix(base, "catalogue") {
			limit = maxLiteralLines
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line
			if lines > limit {
				t.Errorf("%s: %s has %d lines; at most %d", s.path, f.Name.Name, lines, limit)
			}
			bound := maxCyclomatic
			if strings.HasPrefix(s.path, "internal/labsim/") {
				bound = maxCyclomaticLab
			}
			if n := cyclomatic(f.Body); n > bound {
				t.Errorf("%s: %s has a cyclomatic complexity of %d; at most %d", s.path, f.Name.Name, n, bound)
			}
		}
	}
}

func cyclomatic(body ast.Node) int {
	n := 1
	ast.Inspect(body, func(node ast.Node) bool {
		switch v := node.(type) {
		case *ast.FuncLit:
			return false // counted by its reader on its own
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if v.List != nil {
				n++
			}
		case *ast.CommClause:
			if v.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if v.Op == token.LAND || v.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func TestPackages_areNamedForAThingAndSayWhatTheyMustNotDo(t *testing.T) {
	drawers := regexp.MustCompile(`^(util|utils|common|helper|helpers|shared|base|misc|types|consts)$`)
	docs := map[string]string{}
	for _, s := range sources(t) {
		dir := filepath.Dir(s.path)
		if drawers.MatchString(s.file.Name.Name) {
			t.Errorf("%s: a package called %s is a drawer", s.path, s.file.Name.Name)
		}
		docs[dir] += s.file.Doc.Text()
	}
	for dir, doc := range docs {
		switch {
		case doc == "":
			t.Errorf("%s has no package comment", dir)
		case strings.HasPrefix(doc, "Command "):
		case !regexp.MustCompile(`(?i)must not|never|no code of its own`).MatchString(doc):
			t.Errorf("%s: the package comment does not say what the package must not do", dir)
		}
	}
}

// Each literal that is the summary of a diagnostic follows the grammar of the
// project, so that a reader knows a failure from a refusal.
func TestDiagnostics_summariesFollowTheGrammar(t *testing.T) {
	errorCall := regexp.MustCompile(`^Add(Attribute)?Error$`)
	strict := regexp.MustCompile(`^(Unable to|Refusing to|Invalid|Unknown|Missing|Conflicting) `)
	for _, s := range sources(t) {
		if !strings.HasPrefix(s.path, "internal/provider/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !errorCall.MatchString(sel.Sel.Name) {
				return true
			}
			at := 0
			if sel.Sel.Name == "AddAttributeError" {
				at = 1
			}
			if text, isLit := literal(call, at); isLit && (!strict.MatchString(text) || strings.HasSuffix(text, ".")) {
				t.Errorf("%s: summary %q", s.fset.Position(call.Pos()), text)
			}
			return true
		})
	}
}

func literal(call *ast.CallExpr, at int) (string, bool) {
	if len(call.Args) <= at {
		return "", false
	}
	arg := call.Args[at]
	// "literal" + value, or fmt.Sprintf("literal", …)
	for {
		switch v := arg.(type) {
		case *ast.BinaryExpr:
			arg = v.X
			continue
		case *ast.CallExpr:
			if len(v.Args) == 0 {
				return "", false
			}
			arg = v.Args[0]
			continue
		case *ast.BasicLit:
			return strings.Trim(v.Value, "\"`"), v.Kind == token.STRING
		}
		return "", false
	}
}
