package review

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

// consent is what the configuration of a resource allows: a constant, or the value of a variable, which has a name.
type consent struct{ Address, Argument, Value string }

// place is where the configuration has a resource: its name without keys, its arguments, the variables of its module,
// and what that module is given; given is nil in the root module.
type place struct {
	address   string
	written   map[string]expression
	variables map[string]variable
	given     map[string]expression
}

// keys finds the keys of modules in an address: numbers, and texts that may hold anything, such as the dots of a host's
// name.
var keys = regexp.MustCompile(`\[(\d+|"(\\.|[^"\\])*")\]`)

// placeOf is empty if the configuration has no such resource.
func (p *plan) placeOf(r *resource) place {
	at, given := &p.Configuration.Root, map[string]expression(nil)
	path, address := strings.Split(keys.ReplaceAllString(r.Module, ""), "."), ""
	for i := 1; i < len(path); i += 2 { // module.lab.module.b
		call := at.Calls[path[i]]
		at, address = &call.Module, address+"module."+path[i]+"."
		if given = call.Expressions; i > 1 || given == nil {
			given = map[string]expression{} // what a module gives to another one is not followed
		}
	}
	for _, one := range at.Resources {
		if one.Mode == r.Mode && one.Type == r.Type && one.Name == r.Name {
			return place{address + r.Type + "." + r.Name, one.Expressions, at.Variables, given}
		}
	}
	return place{}
}

// consents are what the configuration of a resource allows; the plan of a write-only argument has nothing. A
// constant is the whole of it. Of anything else the plan says which variables it refers to, and neither what it
// takes of them nor what it writes beside them: then open is true.
func (p *plan) consents(at place) (all []consent, open bool) {
	e, given := at.written[finding.Allow]
	switch {
	case !given || e.IsConstant && isEmpty(e.Constant):
		return nil, false
	case e.IsConstant:
		return []consent{{at.address, finding.Allow, compact(e.Constant)}}, false
	}
	for _, ref := range whole(e.References) {
		if v := p.lookUp(ref, at); isConsents(ref, v) {
			all = append(all, consent{at.address, finding.Allow, ref + " = " + compact(v)})
		}
	}
	return all, true
}

// isConsents tells consents from all else that an expression may refer to, which is nobody's business: the key of a
// host, a condition, or a variable of which it takes a part.
func isConsents(ref string, v any) bool {
	isKey := func(key string) bool {
		return slices.ContainsFunc(finding.All(), func(r *finding.Rule) bool { return r.Consent == key })
	}
	object, _ := v.(map[string]any)
	strange := slices.ContainsFunc(keysOf(object), func(key string) bool { return !isKey(key) })
	return !isEmpty(v) && (isKey(ref[strings.LastIndex(ref, ".")+1:]) || len(object) > 0 && !strange)
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

// whole drops references that are the beginning of another one.
func whole(references []string) []string {
	var all []string
	for i, ref := range references {
		longer := slices.ContainsFunc(references, func(o string) bool { return strings.HasPrefix(o, ref+".") })
		if !longer && !slices.Contains(references[:i], ref) {
			all = append(all, ref)
		}
	}
	return all
}

// lookUp gives the value of var.NAME, or of var.NAME.KEY; nil if the plan does not have it, or hides it.
func (p *plan) lookUp(ref string, at place) any {
	path := strings.Split(ref, ".")
	if path[0] != "var" || len(path) < 2 || at.variables[path[1]].Sensitive {
		return nil
	}
	value := p.variable(path[1], at.given)
	for _, key := range path[2:] {
		value = member(value, key)
	}
	return value
}

// variable is the value of a variable of a module, or of the root module if given is nil.
func (p *plan) variable(name string, given map[string]expression) any {
	if given != nil {
		e := given[name]
		if len(e.References) != 1 {
			return e.Constant
		}
		root, isVariable := strings.CutPrefix(e.References[0], "var.")
		if name = root; !isVariable {
			return nil
		}
	}
	if p.Configuration.Root.Variables[name].Sensitive {
		return nil
	}
	return p.Variables[name].Value
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
