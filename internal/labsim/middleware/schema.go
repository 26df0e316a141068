package middleware

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind int

const (
	kindString kind = iota
	kindInt
	kindBool
	kindList
	kindModel
	kindAny
)

// field is one attribute of a request model. The middleware's models are
// strict: no "2044" for an integer, no unknown key.
type field struct {
	name     string
	kind     kind
	required bool
	nullable bool
	min, max int // for kindInt, when bounded
	bounded  bool
	minLen   int
	maxLen   int      // for kindString; 0 = 1024, the default of plain strings
	enum     []string // for kindString
	fields   []field  // for kindModel, and for the items of kindList
	model    string   // name of the model, for messages
	items    bool     // kindList: items are models
}

const defaultMaxLen = 1024

func check(attr string, f field, v any) ValidationErrors {
	if v == nil && f.nullable || f.kind == kindAny {
		return nil
	}
	switch f.kind {
	case kindString:
		return checkString(attr, f, v)
	case kindInt:
		return checkInt(attr, f, v)
	case kindBool:
		if _, ok := v.(bool); !ok {
			return invalidField(attr, "Input should be a valid boolean")
		}
	case kindList:
		return checkList(attr, f, v)
	case kindModel:
		m, ok := v.(map[string]any)
		if !ok {
			return invalidField(attr, "Input should be a valid dictionary or instance of "+f.model)
		}
		return checkModel(attr, f.fields, m)
	case kindAny:
	}
	return nil
}

func checkString(attr string, f field, v any) ValidationErrors {
	s, ok := v.(string)
	if len(f.enum) > 0 {
		for _, e := range f.enum {
			if ok && s == e {
				return nil
			}
		}
		return invalidField(attr, "Input should be "+enumText(f.enum))
	}
	if !ok {
		return invalidField(attr, "Input should be a valid string")
	}
	limit := f.maxLen
	if limit == 0 {
		limit = defaultMaxLen
	}
	n := utf8.RuneCountInString(s)
	if n > limit {
		return invalidField(attr, fmt.Sprintf("String should have at most %d characters", limit))
	}
	if n < f.minLen {
		return invalidField(attr, fmt.Sprintf("String should have at least %d character", f.minLen))
	}
	return nil
}

func enumText(enum []string) string {
	quoted := make([]string, len(enum))
	for i, e := range enum {
		quoted[i] = "'" + e + "'"
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

func checkInt(attr string, f field, v any) ValidationErrors {
	n, ok := v.(int)
	if !ok {
		return invalidField(attr, "Input should be a valid integer")
	}
	if f.bounded && n < f.min {
		return invalidField(attr, "Input should be greater than or equal to "+strconv.Itoa(f.min))
	}
	if f.bounded && n > f.max {
		return invalidField(attr, "Input should be less than or equal to "+strconv.Itoa(f.max))
	}
	return nil
}

func checkList(attr string, f field, v any) ValidationErrors {
	list, ok := v.([]any)
	if !ok {
		return invalidField(attr, "Input should be a valid list")
	}
	if !f.items {
		return nil
	}
	var errs ValidationErrors
	seen := map[string]bool{}
	for i, it := range list {
		errs = append(errs, check(attr+"."+strconv.Itoa(i), field{kind: kindModel, fields: f.fields, model: f.model}, it)...)
		key := encode(it)
		if seen[key] {
			errs = append(errs, invalidField(attr, "List must be unique")...)
		}
		seen[key] = true
	}
	return errs
}

func checkModel(attr string, fields []field, m map[string]any) ValidationErrors {
	var errs ValidationErrors
	known := map[string]bool{}
	for _, f := range fields {
		known[f.name] = true
		v, there := m[f.name]
		if !there {
			if f.required {
				errs = append(errs, invalidField(attr+"."+f.name, "Field required")...)
			}
			continue
		}
		errs = append(errs, check(attr+"."+f.name, f, v)...)
	}
	for _, k := range sortedKeys(m) {
		if !known[k] {
			errs = append(errs, invalidField(attr+"."+k, "Extra inputs are not permitted")...)
		}
	}
	return errs
}

// bind checks the positional arguments of a call against the parameters.
// Missing optional ones are passed as nil.
func bind(params []field, args []any) ([]any, error) {
	if len(args) > len(params) {
		return nil, ValidationErrors{{Errno: "EINVAL", Message: fmt.Sprintf(
			"Too many arguments (expected %d, found %d)", len(params), len(args))}}
	}
	var errs ValidationErrors
	bound := make([]any, len(params))
	for i, p := range params {
		if i >= len(args) {
			if p.required {
				errs = append(errs, invalidField(p.name, "Field required")...)
			}
			continue
		}
		errs = append(errs, check(p.name, p, args[i])...)
		bound[i] = args[i]
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return bound, nil
}

// Readers of checked values: the zero value when absent or null.

func str(m map[string]any, key string) string { s, _ := m[key].(string); return s }

func boolOr(m map[string]any, key string, def bool) bool {
	if b, ok := m[key].(bool); ok {
		return b
	}
	return def
}

func intOr(m map[string]any, key string, def int) int {
	if n, ok := m[key].(int); ok {
		return n
	}
	return def
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }
