package sshconfig

import (
	"os"
	"path/filepath"
	"strings"
)

// tilde replaces a leading ~ by the home directory.
func tilde(home, path string) string {
	if path == "~" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// fields splits a value that lists several paths, honouring double quotes.
func fields(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if rest, ok := strings.CutPrefix(s, `"`); ok {
			word, after, _ := strings.Cut(rest, `"`)
			out, s = append(out, word), after
			continue
		}
		word, after, _ := strings.Cut(s, " ")
		out, s = append(out, word), after
	}
	return out
}

// paths splits a list of files. ssh prints names with blanks without their quotes:
// what does not begin as a path goes on with the one before.
func paths(text string) (out []string) {
	if strings.Contains(text, `"`) {
		return fields(text)
	}
	for _, word := range strings.Split(text, " ") {
		// If the part before is a file already, the next word is a name of its own, relative or not.
		if n := len(out); n > 0 && !startsPath(word) && !exists(out[n-1]) {
			out[n-1] += " " + word
			continue
		}
		if word != "" {
			out = append(out, word)
		}
	}
	return out
}

// ssh of Windows prints __PROGRAMDATA__ for the directory of its system, and paths with a drive.
func startsPath(word string) bool {
	return strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") || strings.HasPrefix(word, "%") ||
		strings.HasPrefix(word, "$") || strings.HasPrefix(word, "__PROGRAMDATA__") || len(word) > 1 && word[1] == ':'
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
