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

// place is where the configuration has a resource: its arguments, what it iterates over, and what the
// module that it is in is given; given is nil in the root module.
type place struct {
	written map[string]expression
	forEach expression
	given   map[string]expression
}

// placeOf is empty if the configuration has no such resource.
func (p *plan) placeOf(r *resource) place {
	at, given := &p.Configuration.Root, map[string]expression(nil)
	path := strings.Split(r.Module, ".")
	for i := 1; i < len(path); i += 2 { // module.lab["a"].module.b: a key may hold dots, and then nothing is found
		name, _, _ := strings.Cut(path[i], "[")
		call := at.Calls[name]
		at = &call.Module
		if given = call.Expressions; i > 1 || given == nil {
			given = map[string]expression{} // what a module gives to another one is not followed
		}
	}
	for _, one := range at.Resources {
		if one.Mode == r.Mode && one.Type == r.Type && one.Name == r.Name {
			return place{one.Expressions, one.ForEach, given}
		}
	}
	return place{}
}

// consents are those that the configuration of a resource gives. Their values are in no plan, so
// they are looked up where the configuration refers to a variable.
func (p *plan) consents(r *resource) []consent {
	at := p.placeOf(r)
	e, given := at.written[finding.Allow]
	if !given {
		return nil
	}
	value, known := p.value(e, r.Index, at)
	if known && isEmpty(value) {
		return nil
	}
	return []consent{{r.Address, finding.Allow, compact(value)}}
}

// value is that of a write-only argument, if the plan lets it be known: all that it refers to, of
// which the configuration chooses.
func (p *plan) value(e expression, index any, at place) (value any, known bool) {
	if len(e.References) == 0 {
		return e.Constant, e.IsConstant
	}
	if slices.Contains(e.References, "each.key") { // an element is looked up, and the plan does not say which
		return nil, false
	}
	var choices []any
	for _, ref := range whole(e.References) {
		v, ok := p.lookUp(ref, index, at)
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

// lookUp gives the value of var.NAME or each.value, if the plan has it. That of a whole variable in
// which the configuration looks something up is not the value that it takes.
func (p *plan) lookUp(ref string, index any, at place) (value any, ok bool) {
	path := strings.Split(ref, ".")
	switch {
	case path[0] == "var" && len(path) > 1:
		value, ok = p.variable(path[1], at.given)
		path = path[2:]
	case strings.HasPrefix(ref, "each.value"):
		for _, all := range at.forEach.References {
			name, isVariable := strings.CutPrefix(all, "var.")
			v, known := p.variable(name, at.given)
			if item := member(v, fmt.Sprint(index)); isVariable && known && item != nil {
				value, ok = item, true
			}
		}
		path = path[2:]
	}
	for _, name := range path {
		value = member(value, name)
	}
	return value, ok
}

// variable is the value of a variable of a module, or of the root module if given is nil.
func (p *plan) variable(name string, given map[string]expression) (value any, ok bool) {
	if given == nil {
		v, ok := p.Variables[name]
		return v.Value, ok
	}
	e := given[name]
	if e.Constant == nil && len(e.References) == 1 {
		root, isVariable := strings.CutPrefix(e.References[0], "var.")
		v, known := p.Variables[root]
		return v.Value, known && isVariable
	}
	return e.Constant, e.IsConstant
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
