package attribute

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Kind is a domain value that has one canonical spelling and several accepted
// ones. Its zero value is used; it holds no state.
type Kind interface {
	// Noun names the value in messages, with its article: "a GUID".
	Noun() string
	// Canonical parses s and returns the canonical spelling.
	Canonical(s string) (string, error)
}

// TextType is the attribute type of Text values of one kind.
type TextType[K Kind] struct{ basetypes.StringType }

// Text is a string attribute that validates itself and equals every other
// spelling of the same value.
type Text[K Kind] struct{ basetypes.StringValue }

// NewText returns the value s as it is spelled.
func NewText[K Kind](s string) Text[K] { return Text[K]{basetypes.NewStringValue(s)} }

// NullText returns a null value.
func NullText[K Kind]() Text[K] { return Text[K]{basetypes.NewStringNull()} }

// UnknownText returns an unknown value.
func UnknownText[K Kind]() Text[K] { return Text[K]{basetypes.NewStringUnknown()} }

// textOrNull returns the value s, or null if s is empty.
func textOrNull[K Kind](s string) Text[K] {
	if s == "" {
		return NullText[K]()
	}
	return NewText[K](s)
}

// Equal implements attr.Type.
func (t TextType[K]) Equal(o attr.Type) bool {
	other, ok := o.(TextType[K])
	return ok && t.StringType.Equal(other.StringType)
}

// String implements attr.Type.
func (t TextType[K]) String() string {
	var k K
	return fmt.Sprintf("attribute.TextType(%s)", k.Noun())
}

// ValueFromString implements basetypes.StringTypable.
func (t TextType[K]) ValueFromString(_ context.Context,
	in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return Text[K]{in}, nil
}

// ValueFromTerraform implements attr.Type.
func (t TextType[K]) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	v, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t, err)
	}
	s, ok := v.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("read %s: unexpected value type %T", t, v)
	}
	return Text[K]{s}, nil
}

// ValueType implements attr.Type.
func (t TextType[K]) ValueType(context.Context) attr.Value { return Text[K]{} }

// Type implements attr.Value.
func (v Text[K]) Type(context.Context) attr.Type { return TextType[K]{} }

// Equal implements attr.Value; it compares spellings, as the framework asks.
func (v Text[K]) Equal(o attr.Value) bool {
	other, ok := o.(Text[K])
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both spellings mean the same value.
func (v Text[K]) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Text[K])
	if !ok {
		return false, nil
	}
	return v.Same(other), nil
}

// Same reports whether v and o mean the same value; null equals only null,
// unknown equals only unknown.
func (v Text[K]) Same(o Text[K]) bool {
	if v.StringValue.Equal(o.StringValue) {
		return true
	}
	if v.IsNull() || v.IsUnknown() || o.IsNull() || o.IsUnknown() {
		return false
	}
	var k K
	if loose, ok := any(k).(interface{ Means(a, b string) bool }); ok {
		return loose.Means(v.ValueString(), o.ValueString())
	}
	a, errA := v.Canonical()
	b, errB := o.Canonical()
	return errA == nil && errB == nil && a == b
}

// Canonical returns the canonical spelling of a known value.
func (v Text[K]) Canonical() (string, error) {
	var k K
	return k.Canonical(v.ValueString())
}

// InvalidValue begins the summary of an error about a value that does not parse.
const InvalidValue = "Invalid value for "

// ValidateAttribute refuses values that do not parse.
func (v Text[K]) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest,
	resp *xattr.ValidateAttributeResponse) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if _, err := v.Canonical(); err != nil {
		var k K
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf(InvalidValue+"%s: not %s", req.Path, k.Noun()),
			diagnostic.Sentence(err.Error()))
	}
}

// ValidateParameter refuses function arguments that do not parse.
func (v Text[K]) ValidateParameter(_ context.Context, req function.ValidateParameterRequest,
	resp *function.ValidateParameterResponse) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	if _, err := v.Canonical(); err != nil {
		resp.Error = ArgumentError(req.Position, err)
	}
}

// ArgumentError is the error of a function about one of its arguments. The engines
// put a full stop behind it.
func ArgumentError(position int64, err error) *function.FuncError {
	return function.NewArgumentFuncError(position, strings.TrimSuffix(diagnostic.Sentence(err.Error()), "."))
}
