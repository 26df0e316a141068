package labsim

import (
	"context"
	"strings"
)

// Flags are the parsed options of a process.
type Flags struct {
	values map[string][]string
	Args   []string // operands
}

// Has says whether an option was given.
func (f *Flags) Has(name string) bool { return len(f.values[name]) > 0 }

// Get returns the last value of an option.
func (f *Flags) Get(name string) string { return f.Or(name, "") }

// Or returns the last value of an option, or def if it was not given.
func (f *Flags) Or(name, def string) string {
	if v := f.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return def
}

// All returns every value of an option.
func (f *Flags) All(name string) []string { return f.values[name] }

// WithFlags is the program that run is once its arguments are read with ParseArgs. An
// unknown option is recorded as a violation, and run does not begin.
func WithFlags(run func(context.Context, *Proc, *Flags) int, posix bool, names ...string) Program {
	return func(ctx context.Context, p *Proc) int {
		f, bad := ParseArgs(p.Args[1:], posix, names...)
		if bad != "" {
			return p.Unknown("option " + bad)
		}
		return run(ctx, p, f)
	}
}

// ParseArgs is a strict getopt. Each of names is one known option: a letter or a
// long word, its other names after a blank, "=" at the end if it takes a value; the
// result knows it by its first name. Long options are known by their full name only.
// With posix set, options end at the first operand. bad is the option that is not
// known or lacks its value.
func ParseArgs(args []string, posix bool, names ...string) (f *Flags, bad string) {
	first, takes := map[string]string{}, map[string]bool{}
	for _, n := range names {
		list := strings.Fields(strings.TrimSuffix(n, "="))
		for _, name := range list {
			first[name] = list[0]
		}
		takes[list[0]] = strings.HasSuffix(n, "=")
	}
	f = &Flags{values: map[string][]string{}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			f.Args = append(f.Args, args...)
			return f, ""
		case len(arg) < 2 || arg[0] != '-':
			f.Args = append(f.Args, arg)
			if posix {
				f.Args = append(f.Args, args...)
				return f, ""
			}
			continue
		}
		word, value, given := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		letters := ""
		if arg[1] != '-' {
			word, letters, value, given = arg[1:2], arg[2:], "", false
		}
		for {
			name, known := first[word]
			switch {
			case !known || given && !takes[name]:
				return f, arg
			case takes[name] && letters != "":
				value, letters = letters, ""
			case takes[name] && !given:
				if len(args) == 0 {
					return f, arg
				}
				value, args = args[0], args[1:]
			}
			f.values[name] = append(f.values[name], value)
			if letters == "" {
				break
			}
			word, letters, value = letters[:1], letters[1:], ""
		}
	}
	return f, ""
}
