package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
)

// excused are warnings of shellcheck that hold for no script here: those about
// names that another part of a script uses, as scripts are put together (SC2034,
// SC2154, SC2317), and about a "-M do" of ping (SC1010).
const excused = "SC2034,SC2154,SC2317,SC1010"

// TestScripts_passShellcheck looks at every script that runs on a host: those in
// files, and those in the source.
func TestScripts_passShellcheck(t *testing.T) {
	program := realtool.Path(t, "shellcheck")
	dir := t.TempDir()
	files := append(scriptFiles(t), inlineScripts(t, dir)...)
	if len(files) < 20 {
		t.Fatalf("found %d scripts; the walk is wrong: %v", len(files), files)
	}
	out, err := exec.CommandContext(t.Context(), program,
		append([]string{"-s", "sh", "-f", "gcc", "-e", excused}, files...)...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, strings.ReplaceAll(string(out), dir+"/", ""))
	}
}

// scriptFiles are the scripts of the product that have a file of their own.
func scriptFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("../../internal", func(path string, _ fs.DirEntry, err error) error {
		if rel := strings.TrimPrefix(filepath.ToSlash(path), "../../"); strings.HasSuffix(path, ".sh") && product(rel) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// inlineScripts writes the scripts of the source into files: what stands in a call of
// shellcmd.Script, or in a constant that is used there.
func inlineScripts(t *testing.T, dir string) []string {
	t.Helper()
	all := sources(t)
	var files []string
	for _, s := range all {
		if !product(s.path) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 || !isScript(call.Fun) {
				return true
			}
			text, known := scriptText(all, filepath.Dir(s.path), call.Args[1])
			if !known {
				t.Errorf("%s: the text of this script cannot be found", s.fset.Position(call.Pos()))
			}
			if text != "" {
				name := fmt.Sprintf("%s-%d.sh", strings.ReplaceAll(s.path, "/", "-"), s.fset.Position(call.Pos()).Line)
				files = append(files, filepath.Join(dir, name))
				if err := os.WriteFile(files[len(files)-1], []byte(text+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
	}
	return files
}

func isScript(fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Script" {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "shellcmd"
}

// composed are the scripts that are put together while the program runs.
var composed = map[string]string{
	"internal/tool/midclt text": "one call of the middleware, of quoted arguments",
}

// scriptText gives the text of an expression; empty for one that lies in a file.
func scriptText(all []source, dir string, e ast.Expr) (text string, known bool) {
	switch v := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(v.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, knownLeft := scriptText(all, dir, v.X)
		right, knownRight := scriptText(all, dir, v.Y)
		return left + right, knownLeft && knownRight
	case *ast.SelectorExpr:
		return "", true // the functions of another package, which lie in a file
	case *ast.Ident:
		if composed[filepath.ToSlash(dir)+" "+v.Name] != "" {
			return "", true
		}
		text, err := constant(all, dir, v.Name)
		return text, err == nil
	}
	return "", false
}

// constant finds the text of a package's constant or embedded file; that of a file is
// empty.
func constant(all []source, dir, name string) (text string, err error) {
	err = errors.New("no such constant")
	for _, s := range all {
		if filepath.Dir(s.path) != dir {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != 1 || spec.Names[0].Name != name {
				return true
			}
			if len(spec.Values) == 0 {
				err = nil // embedded
				return true
			}
			found, known := scriptText(all, dir, spec.Values[0])
			if known {
				text, err = found, nil
			}
			return true
		})
	}
	return text, err
}
