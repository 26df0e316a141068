package judge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// What is judged is in the look. The snapshot goes to the checks of package platform and nowhere
// else.
func TestChecker_hands_the_snapshot_on(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	asked, handedOn := 0, 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if isSnapshot(call) {
				asked++
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) > 0 && isSnapshot(call.Args[0]) {
				if to, ok := sel.X.(*ast.Ident); ok && to.Name == "platform" {
					handedOn++
				}
			}
			return true
		})
	}
	if asked == 0 || asked != handedOn {
		t.Errorf("the snapshot is asked for %d times and handed on to platform %d times", asked, handedOn)
	}
}

// isSnapshot reports whether an expression is x.Snapshot().
func isSnapshot(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Snapshot"
}
