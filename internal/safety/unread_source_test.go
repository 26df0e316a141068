package safety

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

const module = "github.com/ibfabric/terraform-provider-infiniband/"

// sources are the packages of this module as they are written, checked by type.
type sources struct {
	fset   *token.FileSet
	others types.Importer
	pkgs   map[string]*types.Package
	uses   map[*types.Func][]types.Object // fields and functions that the body of each function names
	fields map[types.Object]string        // "Snapshot.Users"
}

func (s *sources) Import(path string) (*types.Package, error) {
	dir, own := strings.CutPrefix(path, module+"internal/")
	if !own {
		return s.others.Import(path)
	}
	if p := s.pkgs[path]; p != nil {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, bad := parser.ParseFile(s.fset, name, nil, parser.SkipObjectResolution)
		if bad != nil {
			return nil, bad
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	p, err := (&types.Config{Importer: s}).Check(path, s.fset, files, info)
	if err != nil {
		return nil, err
	}
	s.pkgs[path] = p
	s.note(p, files, info)
	return p, nil
}

// note keeps what the functions of a package name, and the fields of its types.
func (s *sources) note(p *types.Package, files []*ast.File, info *types.Info) {
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			owner, _ := info.Defs[fn.Name].(*types.Func)
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					s.uses[owner] = append(s.uses[owner], origin(info.Uses[sel.Sel]))
				} else if id, ok := n.(*ast.Ident); ok {
					if f, ok := info.Uses[id].(*types.Func); ok {
						s.uses[owner] = append(s.uses[owner], f.Origin())
					}
				}
				return true
			})
		}
	}
	for _, name := range p.Scope().Names() {
		st, ok := p.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		for i := 0; ok && i < st.NumFields(); i++ {
			s.fields[st.Field(i)] = name + "." + st.Field(i).Name()
		}
	}
}

func origin(o types.Object) types.Object {
	if v, ok := o.(*types.Var); ok {
		return v.Origin()
	}
	return o
}

// exports opens what the compiler wrote of a package that this one needs. The test itself
// may not know where the standard library is.
func exports(t *testing.T) importer.Lookup {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		".").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// fieldsRead are the fields, as "Snapshot.Users", that the functions of this package and of those
// below it, and what they call in this module, read by name.
func fieldsRead(t *testing.T) map[string]bool {
	t.Helper()
	fset := token.NewFileSet()
	s := &sources{fset: fset, others: importer.ForCompiler(fset, "gc", exports(t)), pkgs: map[string]*types.Package{},
		uses: map[*types.Func][]types.Object{}, fields: map[types.Object]string{}}
	own, err := s.Import(module + "internal/safety")
	if err != nil {
		t.Fatal(err)
	}
	read, seen := map[string]bool{}, map[*types.Func]bool{}
	var todo []*types.Func
	for f := range s.uses {
		if f.Pkg() == own || strings.HasPrefix(f.Pkg().Path(), own.Path()+"/") {
			todo = append(todo, f)
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		for _, o := range s.uses[todo[0]] {
			if f, ok := o.(*types.Func); ok {
				todo = append(todo, f)
			} else if name := s.fields[o]; name != "" {
				read[name] = true
			}
		}
	}
	return read
}

// factTypes are the types of the facts of all requests, and of the facts in those.
func factTypes() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(typ.Elem())
			return
		case reflect.Map:
			walk(typ.Key())
			walk(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		switch pkg, own := strings.CutPrefix(typ.PkgPath(), module+"internal/"); {
		case own && pkg == "fact":
			walk(typ.Field(0).Type) // fact.Of[T] of T
			return
		case !own || pkg == "ib" && typ != reflect.TypeFor[ib.Firmware](), all[typ.Name()] != nil:
			return // a value
		}
		if all[typ.Name()] = typ; notFacts[typ.Name()] != "" {
			return
		}
		for i := range typ.NumField() {
			walk(typ.Field(i).Type)
		}
	}
	for _, in := range []any{FirmwareInput{}, GUIDInput{}, LinkTypeInput{}, BackupInput{}} {
		walk(reflect.TypeOf(in))
	}
	return all
}
