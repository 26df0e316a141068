package osprog

import "strings"

// option is one flag that a simulated program knows. Names are given with
// their dashes; the first is the key of the result.
type option struct {
	names string // separated by blanks: "--property -p"
	arg   bool   // takes an argument
}

type parsed struct {
	opts map[string][]string
	rest []string
}

func (p parsed) has(name string) bool { return len(p.opts[name]) > 0 }

// last returns the last value of an option, or def.
func (p parsed) last(name, def string) string {
	if v := p.opts[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return def
}

// parseOptions reads flags as getopt_long does: --x=v, --x v, -x v, -xv, bundled
// short flags, "--". With ordered set it stops at the first word that is no
// flag. bad is the flag that is not known.
func parseOptions(args []string, ordered bool, known ...option) (out parsed, bad string) {
	table := map[string]option{}
	for _, o := range known {
		for _, n := range strings.Fields(o.names) {
			table[n] = o
		}
	}
	out.opts = map[string][]string{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			out.rest = append(out.rest, args[i+1:]...)
			return out, ""
		case len(a) < 2 || a[0] != '-':
			out.rest = append(out.rest, a)
			if ordered {
				out.rest = append(out.rest, args[i+1:]...)
				return out, ""
			}
		case strings.HasPrefix(a, "--"):
			name, value, inline := strings.Cut(a, "=")
			taken, ok := out.take(table, name, value, inline, args[i+1:])
			if !ok {
				return out, a
			}
			i += taken
		default:
			taken, ok := out.takeShort(table, a[1:], args[i+1:])
			if !ok {
				return out, a
			}
			i += taken
		}
	}
	return out, ""
}

func (p *parsed) take(table map[string]option, name, value string, inline bool, next []string) (taken int, ok bool) {
	o, known := table[name]
	if !known || inline && !o.arg {
		return 0, false
	}
	key := strings.Fields(o.names)[0]
	if o.arg && !inline {
		if len(next) == 0 {
			return 0, false
		}
		value, taken = next[0], 1
	}
	p.opts[key] = append(p.opts[key], value)
	return taken, true
}

func (p *parsed) takeShort(table map[string]option, letters string, next []string) (taken int, ok bool) {
	for i := range letters {
		name := "-" + letters[i:i+1]
		o, known := table[name]
		if !known {
			return 0, false
		}
		if !o.arg {
			key := strings.Fields(o.names)[0]
			p.opts[key] = append(p.opts[key], "")
			continue
		}
		if rest := letters[i+1:]; rest != "" {
			return p.take(table, name, rest, true, next)
		}
		return p.take(table, name, "", false, next)
	}
	return 0, true
}
