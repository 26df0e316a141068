package review

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// consent is what the configuration allows. Its value is empty if the plan does not say it.
type consent struct{ Address, Argument, Value string }

// written are the arguments of a resource in the configuration, and what it iterates over.
func (p *plan) written(r *resource) (map[string]expression, expression) {
	at := &p.Configuration.Root
	path := strings.Split(r.Module, ".")
	for i := 1; i < len(path); i += 2 { // module.lab["a"].module.b: a key may hold dots, and then nothing is found
		name, _, _ := strings.Cut(path[i], "[")
		call := at.Calls[name]
		at = &call.Module
	}
	for _, one := range at.Resources {
		if one.Mode == r.Mode && one.Type == r.Type && one.Name == r.Name {
			return one.Expressions, one.ForEach
		}
	}
	return nil, expression{}
}

// consents are those that the configuration of a resource gives. Their values are in no plan, so
// they are looked up where the configuration refers to a variable.
func (p *plan) consents(r *resource) []consent {
	expressions, forEach := p.written(r)
	e, given := expressions[finding.Allow]
	if !given {
		return nil
	}
	value, known := p.value(e, r, forEach)
	if known && isEmpty(value) {
		return nil
	}
	return []consent{{r.Address, finding.Allow, compact(value)}}
}

// value is that of a write-only argument, if the plan lets it be known: all that it refers to, of
// which the configuration chooses.
func (p *plan) value(e expression, r *resource, forEach expression) (value any, known bool) {
	if e.Constant != nil || len(e.References) == 0 {
		return e.Constant, true
	}
	if r.Module != "" { // only the root module has its variables in a plan
		return nil, false
	}
	var choices []any
	for _, ref := range whole(e.References) {
		v, ok := p.lookUp(ref, r.Index, forEach)
		if !ok {
			return nil, false
		}
		// allow = { downgrade = var.older.downgrade } refers to the value of a key.
		key := ref[strings.LastIndex(ref, ".")+1:]
		isKey := func(r *finding.Rule) bool { return r.Consent == key }
		if !isEmpty(v) && slices.ContainsFunc(finding.All(), isKey) {
			v = map[string]any{key: v}
		}
		same := func(o any) bool { return compact(o) == compact(v) }
		if !isEmpty(v) && !slices.ContainsFunc(choices, same) {
			choices = append(choices, v)
		}
	}
	if len(choices) == 1 {
		return choices[0], true
	}
	return choices, true
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return !slices.ContainsFunc(keysOf(v), func(key string) bool { return !isEmpty(v[key]) })
	case []any:
		return len(v) == 0
	}
	return v == nil
}

// whole drops references that are the beginning of another one, and each.key.
func whole(references []string) []string {
	var all []string
	for i, ref := range references {
		longer := slices.ContainsFunc(references, func(o string) bool { return strings.HasPrefix(o, ref+".") })
		if !longer && ref != "each.key" && !slices.Contains(references[:i], ref) {
			all = append(all, ref)
		}
	}
	return all
}

// lookUp gives the value of var.NAME or each.value, if the plan has it.
func (p *plan) lookUp(ref string, index any, forEach expression) (value any, ok bool) {
	path := strings.Split(ref, ".")
	switch {
	case path[0] == "var" && len(path) > 1:
		v, known := p.Variables[path[1]]
		value, path, ok = v.Value, path[2:], known
	case strings.HasPrefix(ref, "each.value") && len(forEach.References) == 1:
		if value, ok = p.lookUp(forEach.References[0], nil, expression{}); ok {
			value, path = member(value, fmt.Sprint(index)), path[2:]
		}
	}
	for _, name := range path {
		if !ok {
			break
		}
		value = member(value, name)
	}
	return value, ok
}

// compact is a value on one line, in the way of a configuration.
func compact(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, key := range keysOf(v) {
			if v[key] != nil {
				parts = append(parts, key+" = "+compact(v[key]))
			}
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, compact(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return strconv.Quote(v)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}
