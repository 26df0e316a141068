package acctest

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Unknown stands for a value that is not known yet.
var Unknown = unknown{}

type unknown struct{}

// Encode makes a value of a type from Go data: nil, Unknown, string, bool, int,
// slices, and maps. Attributes of an object that a map leaves out are null; one
// that the type does not have is an error, as in a configuration.
func Encode(typ tftypes.Type, v any) (tftypes.Value, error) {
	switch data := v.(type) {
	case nil:
		return tftypes.NewValue(typ, nil), nil
	case unknown:
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case tftypes.Value:
		return data, nil
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		return encodeObject(typ, v)
	case tftypes.Map:
		data, err := asMap(v)
		if err != nil {
			return tftypes.Value{}, err
		}
		out := map[string]tftypes.Value{}
		for key, item := range data {
			if out[key], err = Encode(typ.ElementType, item); err != nil {
				return tftypes.Value{}, fmt.Errorf("%s: %w", key, err)
			}
		}
		return tftypes.NewValue(typ, out), nil
	case tftypes.List:
		return encodeList(typ, typ.ElementType, v)
	case tftypes.Set:
		return encodeList(typ, typ.ElementType, v)
	}
	return encodeScalar(typ, v)
}

func encodeObject(typ tftypes.Object, v any) (tftypes.Value, error) {
	data, err := asMap(v)
	if err != nil {
		return tftypes.Value{}, err
	}
	out := map[string]tftypes.Value{}
	for key, attr := range typ.AttributeTypes {
		if out[key], err = Encode(attr, data[key]); err != nil {
			return tftypes.Value{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	for key := range data {
		if _, ok := typ.AttributeTypes[key]; !ok {
			return tftypes.Value{}, fmt.Errorf("there is no attribute %q", key)
		}
	}
	return tftypes.NewValue(typ, out), nil
}

func encodeList(typ, element tftypes.Type, v any) (tftypes.Value, error) {
	var items []any
	switch data := v.(type) {
	case []any:
		items = data
	case []string:
		for _, s := range data {
			items = append(items, s)
		}
	default:
		return tftypes.Value{}, fmt.Errorf("%T is no list", v)
	}
	out := make([]tftypes.Value, len(items))
	for i, item := range items {
		var err error
		if out[i], err = Encode(element, item); err != nil {
			return tftypes.Value{}, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return tftypes.NewValue(typ, out), nil
}

func encodeScalar(typ tftypes.Type, v any) (tftypes.Value, error) {
	switch data := v.(type) {
	case string:
		if typ.Is(tftypes.String) {
			return tftypes.NewValue(typ, data), nil
		}
	case bool:
		if typ.Is(tftypes.Bool) {
			return tftypes.NewValue(typ, data), nil
		}
	case int:
		if typ.Is(tftypes.Number) {
			return tftypes.NewValue(typ, data), nil
		}
	case float64:
		if typ.Is(tftypes.Number) {
			return tftypes.NewValue(typ, data), nil
		}
	case int64:
		if typ.Is(tftypes.Number) {
			return tftypes.NewValue(typ, data), nil
		}
	}
	return tftypes.Value{}, fmt.Errorf("%T is no %s", v, typ)
}

func asMap(v any) (map[string]any, error) {
	switch data := v.(type) {
	case map[string]any:
		return data, nil
	case map[string]string:
		out := map[string]any{}
		for key, s := range data {
			out[key] = s
		}
		return out, nil
	}
	return nil, fmt.Errorf("%T is no map", v)
}

// Decode is the reverse of Encode: numbers are int64, collections []any and
// map[string]any.
func Decode(v tftypes.Value) any {
	if v.IsNull() {
		return nil
	}
	if !v.IsKnown() {
		return Unknown
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		return decodeAs[string](v)
	case typ.Is(tftypes.Bool):
		return decodeAs[bool](v)
	case typ.Is(tftypes.Number):
		number := decodeAs[big.Float](v)
		if !number.IsInt() {
			f, _ := number.Float64()
			return f
		}
		n, _ := number.Int64()
		return n
	case typ.Is(tftypes.Object{}), typ.Is(tftypes.Map{}):
		out := map[string]any{}
		for key, item := range decodeAs[map[string]tftypes.Value](v) {
			out[key] = Decode(item)
		}
		return out
	}
	items := decodeAs[[]tftypes.Value](v)
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = Decode(item)
	}
	return out
}

func decodeAs[T any](v tftypes.Value) T {
	var out T
	if err := v.As(&out); err != nil {
		panic(fmt.Sprintf("acctest: %s is not %T: %v", v.Type(), out, err))
	}
	return out
}

// At walks decoded data: a string is a key, an int an index. What is not there
// is nil; what is below something unknown is Unknown.
func At(data any, path ...any) any {
	for _, step := range path {
		switch at := data.(type) {
		case unknown:
			return Unknown
		case map[string]any:
			key, _ := step.(string)
			data = at[key]
		case []any:
			i, ok := step.(int)
			if !ok || i >= len(at) {
				return nil
			}
			data = at[i]
		default:
			return nil
		}
	}
	return data
}

// differences lists the paths at which actual breaks what planned promised: a
// known planned value must come true, an unknown one may become anything.
func differences(at string, planned, actual tftypes.Value) []string {
	switch {
	case !planned.IsKnown():
		return nil
	case !actual.IsKnown():
		return []string{at + ": still unknown"}
	case planned.IsNull() || actual.IsNull():
		if planned.IsNull() != actual.IsNull() {
			return []string{fmt.Sprintf("%s: planned %v, got %v", at, Decode(planned), Decode(actual))}
		}
		return nil
	}
	switch typ := planned.Type(); {
	case typ.Is(tftypes.Object{}), typ.Is(tftypes.Map{}):
		return mapDifferences(at, decodeAs[map[string]tftypes.Value](planned), decodeAs[map[string]tftypes.Value](actual))
	case typ.Is(tftypes.List{}):
		var out []string
		p, a := decodeAs[[]tftypes.Value](planned), decodeAs[[]tftypes.Value](actual)
		if len(p) != len(a) {
			return []string{fmt.Sprintf("%s: planned %d elements, got %d", at, len(p), len(a))}
		}
		for i := range p {
			out = append(out, differences(fmt.Sprintf("%s[%d]", at, i), p[i], a[i])...)
		}
		return out
	}
	if !planned.IsFullyKnown() || planned.Equal(actual) {
		return nil
	}
	return []string{fmt.Sprintf("%s: planned %v, got %v", at, Decode(planned), Decode(actual))}
}

func mapDifferences(at string, planned, actual map[string]tftypes.Value) []string {
	var out []string
	for key, p := range planned {
		a, ok := actual[key]
		if !ok {
			out = append(out, at+"."+key+": planned and gone")
			continue
		}
		out = append(out, differences(strings.TrimPrefix(at+"."+key, "."), p, a)...)
	}
	for key := range actual {
		if _, ok := planned[key]; !ok {
			out = append(out, at+"."+key+": not planned")
		}
	}
	return out
}
