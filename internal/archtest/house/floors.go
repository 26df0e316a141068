package main

import (
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// floor counts the references between the files of one package. A reference is a pair of files: one
// names a type, function, method, field, variable or constant of the other, once or often.
type floor struct {
	name         string
	all, upwards int
	pairs        []string // the references that run upwards
}

// maxUpwards is how many references of a hundred may run upwards.
const maxUpwards = 10

// share is rounded down.
func (f floor) share() int { return 100 * f.upwards / max(f.all, 1) }

// tooMany lets a circle of two files pass, such as a type and its driver.
func (f floor) tooMany() bool { return f.upwards > 1 && f.share() > maxUpwards }

type reference struct{ from, to string }

// floors puts the files of each package one above the other, so that files use what is below them as
// far as they can, and counts the references that run upwards all the same. Without a circle
// there is none.
func (h *house) floors() []floor {
	var all []floor
	for _, pkg := range h.packages {
		refs := h.references(pkg)
		at := storeys(refs)
		f := floor{name: local(pkg), all: len(refs)}
		for r := range refs {
			if at[r.from] > at[r.to] {
				f.upwards++
				f.pairs = append(f.pairs, filepath.Base(r.from)+" → "+filepath.Base(r.to))
			}
		}
		slices.Sort(f.pairs)
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b floor) int { return strings.Compare(a.name, b.name) })
	return all
}

// references are those of a package between two of its files.
func (h *house) references(pkg *types.Package) map[reference]bool {
	refs := map[reference]bool{}
	for id, obj := range h.infos[pkg].Uses {
		if obj.Pkg() != pkg {
			continue
		}
		v, isVar := obj.(*types.Var)
		_, isFunc := obj.(*types.Func)
		r := reference{h.file(id.Pos()), h.file(obj.Pos())}
		if r.from != r.to && (isFunc || isVar && v.IsField() || obj.Parent() == pkg.Scope()) {
			refs[r] = true
		}
	}
	return refs
}

// storeys numbers the files, the top one first. Files that use no other go to the bottom and files
// that none uses to the top, until only circles are left; then the file that uses most and is used
// least goes to the top (Eades, Lin and Smyth 1993).
func storeys(refs map[reference]bool) map[string]int {
	left := map[string]bool{}
	for r := range refs {
		left[r.from], left[r.to] = true, true
	}
	at := map[string]int{}
	top, bottom := 0, len(left)
	for len(left) > 0 {
		uses, used := map[string]int{}, map[string]int{}
		for r := range refs {
			if left[r.from] && left[r.to] {
				uses[r.from]++
				used[r.to]++
			}
		}
		next := pick(left, uses, used)
		if uses[next] == 0 {
			at[next] = bottom
			bottom--
		} else {
			at[next] = top
			top++
		}
		delete(left, next)
	}
	return at
}

func pick(left map[string]bool, uses, used map[string]int) string {
	names := make([]string, 0, len(left))
	for name := range left {
		names = append(names, name)
	}
	slices.Sort(names)
	if i := slices.IndexFunc(names, func(n string) bool { return uses[n] == 0 }); i >= 0 {
		return names[i]
	}
	if i := slices.IndexFunc(names, func(n string) bool { return used[n] == 0 }); i >= 0 {
		return names[i]
	}
	return slices.MaxFunc(names, func(a, b string) int { return uses[a] - used[a] - (uses[b] - used[b]) })
}
