package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
)

// way is where a value comes in: the parameter of one type of a function. An expression finds the
// function by its name, as in "(*hca.Ops).ApplyFirmware", with the package below internal/.
type way struct{ of, function, parameter string }

// passed is what a reader sees who follows a value: the functions at which they stop, each once, and
// their files. All other stops are returns to a file that was open before.
type passed struct{ stops, files int }

// walker follows a value depth first. A call passes it on if the receiver or an argument is the value,
// a part of it, or what a call makes of one on the spot. What a variable or a new structure
// takes over is not followed, nor is a call through an interface or into package ib, whose
// values read nothing.
type walker struct {
	*house
	entered map[*types.Func]map[int]bool // by which parameters; -1 is the receiver
	files   map[string]bool
}

const receiver = -1

func (h *house) follow(w way) (passed, error) {
	function := regexp.MustCompile("^" + w.function + "$")
	for fn := range h.funcs {
		if !function.MatchString(named(fn)) {
			continue
		}
		for i := range fn.Signature().Params().Len() {
			if of, ok := fn.Signature().Params().At(i).Type().(*types.Named); ok && of.Obj().Name() == w.parameter {
				walk := walker{house: h, entered: map[*types.Func]map[int]bool{}, files: map[string]bool{}}
				walk.enter(fn, []int{i})
				return passed{len(walk.entered), len(walk.files)}, nil
			}
		}
	}
	return passed{}, fmt.Errorf("no function %s with a parameter of type %s", w.function, w.parameter)
}

func named(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return local(fn.Pkg()) + "." + fn.Name()
	}
	return "(" + types.TypeString(recv.Type(), local) + ")." + fn.Name()
}

// parameters are the names by position; without a name there is none.
func parameters(decl *ast.FuncDecl) map[int]*ast.Ident {
	all := map[int]*ast.Ident{}
	if decl.Recv != nil && len(decl.Recv.List[0].Names) > 0 {
		all[receiver] = decl.Recv.List[0].Names[0]
	}
	n := 0
	for _, field := range decl.Type.Params.List {
		for _, name := range field.Names {
			all[n] = name
			n++
		}
		if len(field.Names) == 0 {
			n++
		}
	}
	return all
}

// enter goes through a function with the value in some of its parameters.
func (w *walker) enter(fn *types.Func, with []int) {
	if w.entered[fn] == nil {
		w.entered[fn] = map[int]bool{}
	}
	anew := slices.ContainsFunc(with, func(i int) bool { return !w.entered[fn][i] })
	for _, i := range with {
		w.entered[fn][i] = true
	}
	decl, info := w.funcs[fn], w.infos[fn.Pkg()]
	w.files[w.file(decl.Pos())] = true
	if !anew {
		return
	}
	body := carrier{info, carriedBy(fn, decl, info, with)}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if callee, with := body.passes(call); len(with) > 0 && w.funcs[callee] != nil && local(callee.Pkg()) != "ib" {
				w.enter(callee, with)
			}
		}
		return true
	})
}

// carriedBy gives the parameters of a function in which it gets the value.
func carriedBy(fn *types.Func, decl *ast.FuncDecl, info *types.Info, with []int) map[types.Object]bool {
	carrying := map[types.Object]bool{}
	variadic, last := fn.Signature().Variadic(), fn.Signature().Params().Len()-1
	for i, name := range parameters(decl) {
		if slices.Contains(with, i) || variadic && i == last && slices.Max(with) > last {
			carrying[info.Defs[name]] = true
		}
	}
	return carrying
}

// carrier knows the variables of one function that hold the value.
type carrier struct {
	info     *types.Info
	carrying map[types.Object]bool
}

// passes gives the function that a call names and the parameters in which it gets the value.
func (c carrier) passes(call *ast.CallExpr) (callee *types.Func, with []int) {
	fun := ast.Unparen(call.Fun)
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	var name *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		if name = f.Sel; c.carries(f.X) {
			with = append(with, receiver)
		}
	default:
		return nil, nil
	}
	for i, arg := range call.Args {
		if c.carries(arg) {
			with = append(with, i)
		}
	}
	callee, ok := c.info.Uses[name].(*types.Func)
	if !ok {
		return nil, nil
	}
	return callee.Origin(), with
}

// carries reports whether an expression is the value, a part of it, or made of it by a call.
func (c carrier) carries(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return c.carrying[c.info.Uses[e]]
	case *ast.SelectorExpr:
		return c.carries(e.X)
	case *ast.StarExpr:
		return c.carries(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.AND && c.carries(e.X)
	case *ast.ParenExpr:
		return c.carries(e.X)
	case *ast.IndexExpr:
		return c.carries(e.X)
	case *ast.SliceExpr:
		return c.carries(e.X)
	case *ast.TypeAssertExpr:
		return c.carries(e.X)
	case *ast.CallExpr:
		return c.made(e)
	}
	return false
}

// made reports whether a call makes its result of the value.
func (c carrier) made(call *ast.CallExpr) bool {
	if method, ok := call.Fun.(*ast.SelectorExpr); ok && c.carries(method.X) {
		return true
	}
	return slices.ContainsFunc(call.Args, c.carries)
}
