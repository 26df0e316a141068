package middleware

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Object is a JSON object that keeps the order of its keys, because the
// middleware's answers keep the order of its models and tests compare bytes.
type Object struct {
	keys []string
	vals map[string]any
}

// Obj builds an Object from alternating keys and values.
func Obj(kv ...any) *Object {
	o := &Object{vals: make(map[string]any, len(kv)/2)}
	for i := 0; i+1 < len(kv); i += 2 {
		o.Set(fmt.Sprint(kv[i]), kv[i+1])
	}
	return o
}

// Set stores a value; a new key goes to the end.
func (o *Object) Set(key string, val any) *Object {
	if _, ok := o.vals[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.vals[key] = val
	return o
}

// Get returns the value of a key and whether it is there.
func (o *Object) Get(key string) (any, bool) {
	v, ok := o.vals[key]
	return v, ok
}

// Keys returns the keys in order.
func (o *Object) Keys() []string { return append([]string(nil), o.keys...) }

// clone copies the top level.
func (o *Object) clone() *Object {
	c := &Object{vals: make(map[string]any, len(o.vals))}
	for _, k := range o.keys {
		c.Set(k, o.vals[k])
	}
	return c
}

// encode prints a value as Python's json.dumps does: a blank after comma and
// colon, non-ASCII characters escaped.
func encode(v any) string {
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}

func writeValue(b *strings.Builder, v any) {
	switch t := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(t))
	case int:
		b.WriteString(strconv.Itoa(t))
	case int64:
		b.WriteString(strconv.FormatInt(t, 10))
	case float64:
		b.WriteString(strconv.FormatFloat(t, 'f', -1, 64))
	case json.Number:
		b.WriteString(t.String())
	case string:
		writeString(b, t)
	case *Object:
		writeMembers(b, t.keys, t.vals)
	case map[string]any:
		keys := slices.Sorted(maps.Keys(t))
		writeMembers(b, keys, t)
	default:
		writeList(b, v)
	}
}

func writeMembers(b *strings.Builder, keys []string, vals map[string]any) {
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		writeString(b, k)
		b.WriteString(": ")
		writeValue(b, vals[k])
	}
	b.WriteByte('}')
}

func writeList(b *strings.Builder, v any) {
	var items []any
	switch t := v.(type) {
	case []any:
		items = t
	case []*Object:
		for _, o := range t {
			items = append(items, o)
		}
	case []string:
		for _, s := range t {
			items = append(items, s)
		}
	default:
		panic(fmt.Sprintf("middleware: no JSON form for %T", v))
	}
	b.WriteByte('[')
	for i, it := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		writeValue(b, it)
	}
	b.WriteByte(']')
}

func writeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f || r > 0x7e && r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// decodeArg reads one command line argument as midclt does: JSON if it is
// JSON, the bare string otherwise. 10.0.0.1 and ib0 therefore stay strings,
// 123 and true do not.
func decodeArg(arg string) any {
	dec := json.NewDecoder(strings.NewReader(arg))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return arg
	}
	if _, err := dec.Token(); err != io.EOF {
		return arg
	}
	return normalise(v)
}

// normalise turns json.Number into int or float64 so that validators can tell
// an integer from a string.
func normalise(v any) any {
	switch t := v.(type) {
	case json.Number:
		if i, err := strconv.Atoi(t.String()); err == nil {
			return i
		}
		f, err := t.Float64()
		if err != nil {
			return t.String()
		}
		return f
	case []any:
		for i := range t {
			t[i] = normalise(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = normalise(t[k])
		}
	}
	return v
}
