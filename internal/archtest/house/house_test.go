package main

import (
	"strings"
	"sync"
	"testing"
)

const root = "../../.."

var product = sync.OnceValues(func() (*house, error) { return load(root) })

// A package is a room: one can see it whole.
const (
	maxFiles = 20
	maxLines = 3000
)

func TestHouse_packages_are_rooms(t *testing.T) {
	sizes, err := measure(root)
	if err != nil || len(sizes) < 90 {
		t.Fatalf("%d packages: %v", len(sizes), err)
	}
	for _, s := range sizes {
		if s.files > maxFiles || s.lines > maxLines {
			t.Errorf("%s has %d files and %d lines; at most %d and %d. Part it by what it is about: value, found, judge, change",
				s.name, s.files, s.lines, maxFiles, maxLines)
		}
	}
}

func TestHouse_references_run_downwards(t *testing.T) {
	h, err := product()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range h.floors() {
		if f.tooMany() {
			t.Errorf("%s: %d of %d references between files run upwards; at most %d %%. Move what both sides need below "+
				"them: %s", f.name, f.upwards, f.all, maxUpwards, strings.Join(f.pairs, ", "))
		}
	}
	for _, w := range ways {
		if seen, err := h.follow(w); err != nil || seen.stops < 10 || seen.files > seen.stops {
			t.Errorf("the way of the %s: %+v, %v", w.of, seen, err)
		}
	}
}

func TestTable_shows_what_was_measured(t *testing.T) {
	h, err := product()
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := measure(root)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := h.table(sizes, &out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Product: ", "largest packages", "\nsafety ", "\nfirmware request "} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the table lacks %q:\n%s", part, out.String())
		}
	}
}

// Files without a circle have no reference upwards, however they are named. A circle has one.
func TestStoreys(t *testing.T) {
	for name, tt := range map[string]struct {
		refs    string
		upwards int
	}{
		"a line":            {"a>b b>c a>c", 0},
		"a line backwards":  {"c>b b>a c>a", 0},
		"two under one":     {"z>a z>b m>b", 0},
		"a circle of two":   {"a>b b>a", 1},
		"a circle of three": {"a>b b>c c>a d>a", 1},
		"two circles":       {"a>b b>a b>c c>b", 2},
	} {
		refs := map[reference]bool{}
		for _, r := range strings.Fields(tt.refs) {
			from, to, _ := strings.Cut(r, ">")
			refs[reference{from, to}] = true
		}
		at, upwards := storeys(refs), 0
		for r := range refs {
			if at[r.from] > at[r.to] {
				upwards++
			}
		}
		if upwards != tt.upwards {
			t.Errorf("%s: %d run upwards, expected %d: %v", name, upwards, tt.upwards, at)
		}
	}
}

func TestSize(t *testing.T) {
	var s size
	s.add([]byte("package a\n\n// A rule.\nvar A = &Rule{Code: \"AB001\"} // one\n\nfunc (e *bad) Error() string { return \"\" }\n\t// x\n"), true)
	s.add([]byte("#!/bin/sh\n"), false)
	if s != (size{files: 2, lines: 8, goLines: 7, comments: 2, findings: 1, errors: 1}) {
		t.Errorf("%+v", s)
	}
}
