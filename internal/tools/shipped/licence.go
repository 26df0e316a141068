package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licences are those that may be shipped in a binary under Apache-2.0, by a
// sentence that only their text has. The names are those of SPDX.
var licences = []struct{ id, sentence string }{
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"BSD", "redistribution and use in source and binary forms, with or without modification, are permitted"},
}

const (
	// The third clause of BSD-3-Clause.
	endorse = "used to endorse or promote products"
	// Each licence of the GPL family says this of itself. That of MPL-2.0 names them only.
	gpl = "everyone is permitted to copy and distribute verbatim copies of this license document"
)

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying)([.-].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)
)

// texts returns the files of a module whose name matches, by name.
func (m module) texts(name *regexp.Regexp) (map[string]string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, e := range entries {
		if e.IsDir() || !name.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found[e.Name()] = string(text)
	}
	return found, nil
}

// licence returns the SPDX expression of a module's licence.
func (m module) licence() (string, error) {
	texts, err := m.texts(licenceFile)
	if err != nil {
		return "", err
	}
	if len(texts) == 0 {
		return "", errors.New("the module has no file with a licence")
	}
	var ids []string
	for name, text := range texts {
		id, err := recognize(text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}

func recognize(text string) (string, error) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if strings.Contains(text, gpl) {
		return "", errors.New("a licence of the GPL family")
	}
	var ids []string
	for _, l := range licences {
		if !strings.Contains(text, l.sentence) {
			continue
		}
		id := l.id
		if id == "BSD" {
			id = "BSD-2-Clause"
			if strings.Contains(text, endorse) {
				id = "BSD-3-Clause"
			}
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return "", errors.New("the text of no licence that is known here")
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " AND "), nil
}

// writeNotices collects the texts of all modules. The same text is written once.
func writeNotices(path, program string, found []module) error {
	var order []string
	users := map[string][]string{}
	for _, m := range found {
		texts, err := m.texts(noticeFile)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			text := strings.TrimSpace(strings.ReplaceAll(texts[name], "\r\n", "\n"))
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], m.Path+" "+m.Version)
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s contains the software below, under the licences below.\n", program)
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[text], "\n"), text)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}
