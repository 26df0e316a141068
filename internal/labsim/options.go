package labsim

import "strings"

// Flags are the parsed options of a process.
type Flags struct {
	values map[string][]string
	Args   []string // operands
}

// Has says whether an option was given.
func (f *Flags) Has(name string) bool { return len(f.values[name]) > 0 }

// Get returns the last value of an option.
func (f *Flags) Get(name string) string {
	if v := f.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// All returns every value of an option.
func (f *Flags) All(name string) []string { return f.values[name] }

// ParseFlags is a strict getopt: names lists the known options, one letter or a
// long word, with "=" at the end if it takes a value. Long options are known
// by their full name only. With posix set, options end at the first operand. An
// unknown option is recorded as a violation and false returned; the caller then
// exits with status 2.
func (p *Proc) ParseFlags(posix bool, names ...string) (*Flags, bool) {
	takes := map[string]bool{}
	known := map[string]bool{}
	for _, n := range names {
		known[strings.TrimSuffix(n, "=")] = true
		takes[strings.TrimSuffix(n, "=")] = strings.HasSuffix(n, "=")
	}
	f := &Flags{values: map[string][]string{}}
	rest := p.Args[1:]
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		switch {
		case arg == "--":
			f.Args = append(f.Args, rest...)
			return f, true
		case strings.HasPrefix(arg, "--"):
			name, value, given := strings.Cut(arg[2:], "=")
			if !known[name] || given && !takes[name] {
				p.Unknown("option " + arg)
				return nil, false
			}
			if takes[name] && !given {
				if len(rest) == 0 {
					p.Unknown("option " + arg + " without a value")
					return nil, false
				}
				value, rest = rest[0], rest[1:]
			}
			f.values[name] = append(f.values[name], value)
		case len(arg) > 1 && arg[0] == '-':
			var ok bool
			if rest, ok = p.shortFlags(f, arg[1:], rest, known, takes); !ok {
				return nil, false
			}
		default:
			f.Args = append(f.Args, arg)
			if posix {
				f.Args = append(f.Args, rest...)
				return f, true
			}
		}
	}
	return f, true
}

func (p *Proc) shortFlags(f *Flags, letters string, rest []string, known, takes map[string]bool) ([]string, bool) {
	for letters != "" {
		name := letters[:1]
		letters = letters[1:]
		if !known[name] {
			p.Unknown("option -" + name)
			return rest, false
		}
		value := ""
		if takes[name] {
			switch {
			case letters != "":
				value, letters = letters, ""
			case len(rest) > 0:
				value, rest = rest[0], rest[1:]
			default:
				p.Unknown("option -" + name + " without a value")
				return rest, false
			}
		}
		f.values[name] = append(f.values[name], value)
	}
	return rest, true
}
