package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

const (
	mit = "Permission is hereby granted, free of charge, to any person obtaining a copy\nof this software …"
	bsd = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided …"
)

func TestRecognize_knowsWhatMayBeShippedAndNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"The MIT License\n\n" + mit: "MIT",
		bsd:                         "BSD-2-Clause",
		bsd + " Neither the name … may be used to endorse or promote products": "BSD-3-Clause",
		"Apache License\n   Version 2.0, January 2004":                         "Apache-2.0",
		"Mozilla Public License Version 2.0\n… GNU General Public License …":   "MPL-2.0",
		mit + bsd:                       "BSD-2-Clause AND MIT",
		"":                              "",
		"Business Source License 1.1 …": "",
		mit + "\nGNU GENERAL PUBLIC LICENSE Version 3\nEveryone is permitted to copy and distribute verbatim\n" +
			"copies of this license document, but changing it is not allowed.": "",
	} {
		got, err := recognize(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestModule_withoutLicenceIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := (module{Path: "example.org/a", Dir: dir}).licence(); err == nil {
		t.Error("a module without a licence passes")
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "LICENSE.md"), []byte(mit), 0o600),
		os.WriteFile(filepath.Join(dir, "NOTICE"), []byte("Written by A."), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := module{Path: "example.org/a", Version: "v1.0.0", Dir: dir}
	if id, err := a.licence(); id != "MIT" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	b := a
	b.Path = "example.org/b"
	path := filepath.Join(dir, "all")
	if err := writeNotices(path, "a-program", []module{a, b}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for want, times := range map[string]int{"Permission is": 1, "Written by A.": 1, "example.org/a v1.0.0": 2,
		"example.org/b v1.0.0": 2} {
		if n := strings.Count(string(text), want); n != times {
			t.Errorf("%q stands %d times in the notices, want %d:\n%s", want, n, times, text)
		}
	}
}

func TestLibraries_areThoseOfTheBinary(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte(mit), 0o600); err != nil {
		t.Fatal(err)
	}
	found := []module{{Path: "example.org/a", Version: "v1.0.0", Dir: dir}, {Path: "std", Version: "go1.26.8", Dir: dir}}
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.org/x", Version: "v0.1.0",
		Replace: &debug.Module{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:sum"}}}}
	got, err := libraries(info, found)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if a := got[1]; a.PURL != "pkg:golang/example.org/a@v1.0.0" || a.Licences[0].Expression != "MIT" ||
		a.Properties[0].Value != "h1:sum" {
		t.Errorf("%+v", a)
	}
	info.Deps[0].Replace.Version = "v1.0.1"
	if _, err := libraries(info, found); err == nil {
		t.Error("a version that the tree does not have passes")
	}
}
