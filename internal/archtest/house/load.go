package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/ibfabric/terraform-provider-infiniband"

// house is the product with its types: what main.go reaches.
type house struct {
	fset     *token.FileSet
	packages []*types.Package
	infos    map[*types.Package]*types.Info
	funcs    map[*types.Func]*ast.FuncDecl
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// load reads all packages of the module that main.go needs. They share their types, so that a
// function of one is the same function in another. Packages of others come from the build cache.
func load(root string) (*house, error) {
	cmd := exec.CommandContext(context.Background(),
		"go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", ".")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages of %s: %w", root, err)
	}
	h := &house{fset: token.NewFileSet(), infos: map[*types.Package]*types.Info{}, funcs: map[*types.Func]*ast.FuncDecl{}}
	exports, own := map[string]string{}, imported{}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	own.others = importer.ForCompiler(h.fset, "gc", open)
	own.known = map[string]*types.Package{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err = dec.Decode(&p); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		exports[p.ImportPath] = p.Export
		if !strings.HasPrefix(p.ImportPath, module) { // a package comes after those that it imports
			continue
		}
		if own.known[p.ImportPath], err = h.check(p, own); err != nil {
			return nil, err
		}
	}
}

// imported are the packages that are checked here, and those of others.
type imported struct {
	known  map[string]*types.Package
	others types.Importer
}

func (i imported) Import(path string) (*types.Package, error) {
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return i.others.Import(path)
}

func (h *house) check(p listed, own types.Importer) (*types.Package, error) {
	files := make([]*ast.File, 0, len(p.GoFiles))
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(h.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", p.ImportPath, err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Types: map[ast.Expr]types.TypeAndValue{}}
	pkg, err := (&types.Config{Importer: own}).Check(p.ImportPath, h.fset, files, info)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", p.ImportPath, err)
	}
	h.packages, h.infos[pkg] = append(h.packages, pkg), info
	for _, f := range files {
		for _, d := range f.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil {
				if fn, ok := info.Defs[decl.Name].(*types.Func); ok {
					h.funcs[fn] = decl
				}
			}
		}
	}
	return pkg, nil
}

// local is the path of a package below internal/; "." is the root.
func local(pkg *types.Package) string {
	if pkg.Path() == module {
		return "."
	}
	return strings.TrimPrefix(pkg.Path(), module+"/internal/")
}

func (h *house) file(pos token.Pos) string { return h.fset.Position(pos).Filename }
