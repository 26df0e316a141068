package middleware

import (
	"maps"
	"reflect"
	"slices"
)

var queryParams = []field{
	{name: "filters", kind: kindList},
	{name: "options", kind: kindModel, model: "QueryOptions", fields: []field{
		{name: "select", kind: kindList}, {name: "get", kind: kindBool},
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
	if !ok {
		return false, invalidField("filters", "Invalid filter "+encode(filter))
	}
	if len(f) != 3 || f[1] != "=" {
		return false, invalidField("filters", "not simulated: "+encode(filter))
	}
	key, _ := f[0].(string)
	have, _ := r.Get(key)
	return reflect.DeepEqual(have, f[2]), nil
}

func sortedKeys(m map[string]any) []string {
	keys := slices.Sorted(maps.Keys(m))
	return keys
}
