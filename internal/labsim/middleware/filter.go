package middleware

import (
	"reflect"
	"regexp"
	"sort"
	"strings"
)

var queryParams = []field{
	{name: "filters", kind: kindList},
	{name: "options", kind: kindModel, model: "QueryOptions", fields: []field{
		{name: "select", kind: kindList}, {name: "order_by", kind: kindList},
		{name: "limit", kind: kindInt}, {name: "offset", kind: kindInt},
		{name: "count", kind: kindBool}, {name: "get", kind: kindBool},
		{name: "extra", kind: kindAny},
	}},
}

// runQuery applies query filters and query options to a list of entries.
func runQuery(rows []*Object, filters []any, opts map[string]any) (any, error) {
	var out []*Object
	for _, r := range rows {
		ok, err := matchAll(r, filters)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r)
		}
	}
	order(out, opts)
	if boolOr(opts, "count", false) {
		return len(out), nil
	}
	if off := intOr(opts, "offset", 0); off > 0 {
		out = out[min(off, len(out)):]
	}
	if lim := intOr(opts, "limit", 0); lim > 0 {
		out = out[:min(lim, len(out))]
	}
	out = project(out, opts)
	if boolOr(opts, "get", false) {
		if len(out) == 0 {
			return nil, ErrMatchNotFound
		}
		return out[0], nil
	}
	if out == nil {
		out = []*Object{}
	}
	return out, nil
}

func order(rows []*Object, opts map[string]any) {
	keys, _ := opts["order_by"].([]any)
	for i := len(keys) - 1; i >= 0; i-- {
		key, _ := keys[i].(string)
		desc := strings.HasPrefix(key, "-")
		key = strings.TrimPrefix(key, "-")
		sort.SliceStable(rows, func(a, b int) bool {
			if desc {
				a, b = b, a
			}
			return less(lookup(rows[a], key), lookup(rows[b], key))
		})
	}
}

func project(rows []*Object, opts map[string]any) []*Object {
	sel, _ := opts["select"].([]any)
	if len(sel) == 0 {
		return rows
	}
	out := make([]*Object, 0, len(rows))
	for _, r := range rows {
		p := Obj()
		for _, s := range sel {
			key, _ := s.(string)
			if v, ok := r.Get(key); ok {
				p.Set(key, v)
			}
		}
		out = append(out, p)
	}
	return out
}

func matchAll(r *Object, filters []any) (bool, error) {
	for _, f := range filters {
		ok, err := matchOne(r, f)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func matchOne(r *Object, filter any) (bool, error) {
	f, ok := filter.([]any)
	if !ok || len(f) < 2 {
		return false, invalid("filters", "Invalid filter "+encode(filter))
	}
	if len(f) == 2 && f[0] == "OR" {
		return matchAny(r, f[1])
	}
	if len(f) != 3 {
		return false, invalid("filters", "Invalid filter "+encode(filter))
	}
	key, _ := f[0].(string)
	op, _ := f[1].(string)
	cmp, ok := operators[op]
	if !ok {
		return false, invalid("filters", "Invalid operation: "+op)
	}
	return cmp(lookup(r, key), f[2]), nil
}

func matchAny(r *Object, alternatives any) (bool, error) {
	list, _ := alternatives.([]any)
	for _, a := range list {
		ok, err := matchOne(r, a)
		if err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

var operators = map[string]func(have, want any) bool{
	"=":   equal,
	"!=":  func(h, w any) bool { return !equal(h, w) },
	">":   func(h, w any) bool { return less(w, h) },
	"<":   less,
	">=":  func(h, w any) bool { return !less(h, w) },
	"<=":  func(h, w any) bool { return !less(w, h) },
	"in":  func(h, w any) bool { return contains(w, h) },
	"nin": func(h, w any) bool { return !contains(w, h) },
	"rin": contains,
	"^":   func(h, w any) bool { return stringsTest(strings.HasPrefix, h, w) },
	"$":   func(h, w any) bool { return stringsTest(strings.HasSuffix, h, w) },
	"~": func(h, w any) bool {
		return stringsTest(func(s, p string) bool {
			re, err := regexp.Compile("^(?:" + p + ")")
			return err == nil && re.MatchString(s)
		}, h, w)
	},
}

func stringsTest(f func(s, p string) bool, h, w any) bool {
	s, ok1 := h.(string)
	p, ok2 := w.(string)
	return ok1 && ok2 && f(s, p)
}

func equal(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

// plain makes ordered objects comparable with decoded JSON.
func plain(v any) any {
	switch t := v.(type) {
	case *Object, []*Object, []string, []any, map[string]any:
		return encode(t)
	}
	return v
}

func contains(list, item any) bool {
	if s, ok := list.(string); ok {
		sub, ok := item.(string)
		return ok && strings.Contains(s, sub)
	}
	l, _ := list.([]any)
	for _, e := range l {
		if equal(e, item) {
			return true
		}
	}
	return false
}

func less(a, b any) bool {
	switch x := a.(type) {
	case int:
		y, ok := b.(int)
		return ok && x < y
	case string:
		y, ok := b.(string)
		return ok && x < y
	}
	return false
}

// lookup reads a dotted path of an entry; a missing step is null.
func lookup(r *Object, path string) any {
	var v any = r
	for _, step := range strings.Split(path, ".") {
		switch t := v.(type) {
		case *Object:
			v, _ = t.Get(step)
		case map[string]any:
			v = t[step]
		default:
			return nil
		}
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
