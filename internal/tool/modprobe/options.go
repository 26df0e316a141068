package modprobe

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Dirs are the directories of modprobe.d(5). A file hides those of the same name in the
// directories behind its own (kmod libkmod/libkmod.c).
var Dirs = []string{"/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d",
	"/lib/modprobe.d"}

// Options is what a configuration says of one parameter of a module.
type Options struct {
	// Values are what the parameter gets, in this order.
	Values []string
	// Unclear are lines that may decide on the parameter, and that are not understood.
	Unclear []string
}

// option is the parameter that is looked for.
type option struct{ module, parameter string }

// ReadFile reads a file of modprobe.d(5) as kmod does (libkmod/libkmod-config.c). An
// install line is clear if its command does nothing but what the words of known do.
func ReadFile(text, module, parameter string, known ...string) Options {
	is, all := option{module, parameter}, Options{}
	for _, line := range logicalLines(text) {
		command, rest := firstWord(line)
		name, rest := firstWord(rest)
		if strings.HasPrefix(line, "#") || rest == "" {
			continue
		}
		name = normalise(name)
		switch command {
		case "options":
			all.addOptions(is, name, rest, line)
		case "install":
			// A command for another module may load this one.
			if matches(name, module) && !loadsOnly(rest, module, known) || is.mentioned(rest) {
				all.Unclear = append(all.Unclear, line)
			}
		}
	}
	return all
}

// addOptions takes the options of a module, or of the device for which the kernel asks for it.
func (o *Options) addOptions(is option, name, options, line string) {
	switch {
	case name == is.module:
		o.add(is, options, line)
	case strings.ContainsAny(name, ":*?[") && is.mentioned(options):
		o.Unclear = append(o.Unclear, line)
	}
}

// ReadCommandLine reads the options that the kernel's command line has for a module. kmod
// hands them on to a module that it loads.
func ReadCommandLine(text, module, parameter string) Options {
	is, all := option{module, parameter}, Options{}
	words, _ := quotedWords(text)
	for _, word := range words {
		bare, quoted := strings.CutPrefix(word, `"`)
		name, options, ok := strings.Cut(bare, ".")
		if !ok || underscores(name) != module {
			continue
		}
		if key, value, ok := strings.Cut(options, "="); ok && quoted {
			options = key + `="` + value
		}
		all.add(is, options, word)
	}
	return all
}

// add takes what one line has for the module, as the kernel reads it (kernel/params.c).
func (o *Options) add(is option, options, line string) {
	args, ok := arguments(options)
	for _, a := range args {
		switch {
		case a.name == "--" && !a.hasValue: // the kernel stops reading there
			ok = false
		case underscores(a.name) != is.parameter:
		case a.hasValue:
			o.Values = append(o.Values, a.value)
		default:
			ok = false
		}
	}
	if !ok {
		o.Unclear = append(o.Unclear, line)
	}
}

func (is option) mentioned(text string) bool {
	return strings.Contains(underscores(text), is.parameter)
}

func underscores(text string) string { return strings.ReplaceAll(text, "-", "_") }

// normalise gives the name of a module as kmod keeps it: a range in brackets stays.
func normalise(name string) string {
	before, rest, ok := strings.Cut(name, "[")
	if !ok {
		return underscores(name)
	}
	inside, after, _ := strings.Cut(rest, "]")
	return underscores(before) + "[" + inside + "]" + normalise(after)
}

// logicalLines joins what a backslash joins. Before any other character it is left out.
func logicalLines(text string) []string {
	var lines []string
	var line strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			lines = append(lines, line.String())
			line.Reset()
		case c != '\\':
			line.WriteByte(c)
		case i+1 < len(text):
			i++
			if text[i] != '\n' {
				line.WriteByte(text[i])
			}
		}
	}
	return append(lines, line.String())
}

func firstWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, "\t ")
	if end := strings.IndexAny(text, "\t "); end >= 0 {
		return text[:end], strings.TrimSpace(text[end:])
	}
	return text, ""
}

// matches compares as fnmatch(3). A pattern that is not understood may match.
func matches(pattern, name string) bool {
	matched, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return matched || err != nil
}

var shellWord = regexp.MustCompile(`[^\s;()&|]+`)

// loadsOnly reports whether a command loads the module with the options of its
// configuration, and does nothing else that is not known.
func loadsOnly(command, module string, known []string) bool {
	words := shellWord.FindAllString(command, -1)
	ignores := func(w string) bool { return w == "--ignore-install" || w == "-i" }
	loads := slices.Index(words, module)
	if loads < 1 || !ignores(words[loads-1]) {
		return false
	}
	for _, w := range words {
		if w != module && !ignores(w) && w != "$CMDLINE_OPTS" && path.Base(w) != "modprobe" && !slices.Contains(known, w) {
			return false
		}
	}
	return true
}

type argument struct {
	name, value string
	hasValue    bool
}

// arguments takes the options of a module apart; not ok if a quote is not closed, so that
// it goes on in what follows.
func arguments(text string) (all []argument, ok bool) {
	words, ok := quotedWords(text)
	for _, word := range words {
		bare, quoted := strings.CutPrefix(word, `"`)
		var a argument
		a.name, a.value, a.hasValue = strings.Cut(bare, "=")
		value, inner := strings.CutPrefix(a.value, `"`)
		if quoted || inner {
			value = strings.TrimSuffix(value, `"`)
		}
		a.value = value
		all = append(all, a)
	}
	return all, ok
}

// quotedWords splits at white space outside of quotes, which stay; not ok if one is open
// at the end.
func quotedWords(text string) (words []string, ok bool) {
	inside := false
	words = strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			inside = !inside
		}
		return !inside && strings.ContainsRune(" \t\n\v\f\r", r)
	})
	return words, !inside
}
