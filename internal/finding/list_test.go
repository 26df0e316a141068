package finding

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFamilies_have_each_code_once_and_in_order(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range Families {
		last := ""
		for _, r := range f.Rules {
			if !regexp.MustCompile(`^`+f.Prefix+`\d{3}$`).MatchString(r.Code) || r.Code <= last || seen[r.Code] {
				t.Errorf("%s, after %q of family %s", r.Code, last, f.Prefix)
			}
			last, seen[r.Code] = r.Code, true
		}
	}
}

// retired are the codes of rules that are gone. A code that somebody has read once means
// nothing else later.
var retired = []string{
	"FW013", "FW032", "FW048", "FW050", "FW062", "GU013", "HO031", "LT009", "LT010", "SM004", "SM008", "SM009", "SM017",
	"PO010", "BM003", "IP022", "IP026", "SM029", "SM030", "IP044", "IP048", "PO011", "PO009", "HO033", "LT021", "LT019", "SM002", "SM003", "SM006",
	"GU002", "GU003", "GU007", "GU008", "GU012", "FW053", "PO005", "BM005", "LT012", "LT014", "FW002", "FW024", "FW027", "FW029", "FW031", "PO008",
	"FW036", "IP006", "IP007", "IP032", "IP003", "IP004", "PO002", "PO003", "PO007", "BM002",
}

func TestRetired_codes_are_not_used_again(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		if slices.Contains(retired, r.Code) || r.Severity == Note {
			t.Errorf("%s: a retired code, or a note, which no plan shows", r.Code)
		}
	}
}

func TestRules_say_enough(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		// What needs consent may have nothing but the line to add, which the finding makes.
		if r.Title == "" || r.Meaning == "" || r.Severity == Refuse && r.WayOut == "" {
			t.Errorf("%s says too little: %+v", r.Code, *r)
		}
		if (r.Severity == NeedsConsent) != (r.Consent != "") {
			t.Errorf("%s: severity %s and consent %q do not agree", r.Code, r.Severity, r.Consent)
		}
	}
}

// Each variable of the package that is a rule is in the list, and the product finds it.
func TestRules_are_listed_and_used(t *testing.T) {
	t.Parallel()
	declared, listed := map[string]bool{}, map[string]bool{}
	for path, file := range source(t, ".") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				declared[n.Names[0].Name] = n.Values != nil && isRule(n.Values[0])
			case *ast.Ident:
				listed[n.Name] = listed[n.Name] || path == "list.go"
			}
			return true
		})
	}
	used := usedElsewhere(t)
	for name, isRule := range declared {
		if isRule && !listed[name] {
			t.Errorf("%s is in no family", name)
		}
		if isRule && !used[name] {
			t.Errorf("nothing finds %s", name)
		}
	}
	if n := len(All()); n < 150 || len(declared) < n {
		t.Errorf("%d rules in the list, %d variables", n, len(declared))
	}
}

func isRule(x ast.Expr) bool {
	p, ok := x.(*ast.UnaryExpr)
	if !ok {
		return false
	}
	c, ok := p.X.(*ast.CompositeLit)
	if !ok {
		return false
	}
	id, ok := c.Type.(*ast.Ident)
	return ok && id.Name == "Rule"
}

// usedElsewhere gives the names of this package that the product mentions, but for
// the troubleshooting guide. Codes there are variables; what texts say of them exists.
func usedElsewhere(t *testing.T) map[string]bool {
	used := map[string]bool{}
	code := regexp.MustCompile(`\b(` + strings.Join(prefixes(), "|") + `)\d{3}\b`)
	for path, file := range source(t, "..") {
		if area, _, _ := strings.Cut(filepath.ToSlash(path)[3:], "/"); area == "finding" || area == "labsim" ||
			area == "acctest" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if p, ok := n.X.(*ast.Ident); ok && p.Name == "finding" && filepath.Base(path) != "symptom.go" {
					used[n.Sel.Name] = true
				}
			case *ast.BasicLit:
				for _, c := range code.FindAllString(n.Value, -1) {
					if !slices.ContainsFunc(All(), func(r *Rule) bool { return r.Code == c }) {
						t.Errorf("%s speaks of %s, which is no finding", path, c)
					}
					if n.Value == `"`+c+`"` {
						t.Errorf("%s names %s by a string", path, c)
					}
				}
			}
			return true
		})
	}
	return used
}

func prefixes() []string {
	var all []string
	for _, f := range Families {
		all = append(all, f.Prefix)
	}
	return all
}

// source gives the files below a directory, without tests.
func source(t *testing.T, root string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
