package attribute

import (
	"context"
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// ValidElements validates the elements of a map or a set, which the framework leaves to
// attributes. It refuses two spellings of one value in a set.
type ValidElements[K Kind] struct{}

var (
	_ validator.Map = ValidElements[GUIDKind]{}
	_ validator.Set = ValidElements[GUIDKind]{}
)

// Description implements validator.Describer.
func (ValidElements[K]) Description(context.Context) string {
	var k K
	return "each element must be " + k.Noun()
}

// MarkdownDescription implements validator.Describer.
func (v ValidElements[K]) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateMap implements validator.Map.
func (v ValidElements[K]) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for key, e := range req.ConfigValue.Elements() {
		v.element(&resp.Diagnostics, req.Path.AtMapKey(key), e)
	}
}

// ValidateSet implements validator.Set.
func (v ValidElements[K]) ValidateSet(_ context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	seen := map[string]string{}
	for _, e := range req.ConfigValue.Elements() {
		text, canonical := v.element(&resp.Diagnostics, req.Path, e)
		if first, twice := seen[canonical]; twice && canonical != "" {
			resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Invalid value for %s: one value twice", req.Path),
				fmt.Sprintf("%q and %q mean the same.", first, text))
		}
		seen[canonical] = text
	}
}

// element returns the text and its canonical spelling; both are empty if it is
// not known or not valid.
func (ValidElements[K]) element(diags *diag.Diagnostics, at path.Path, e attr.Value) (text, canonical string) {
	v, ok := e.(Text[K])
	if !ok || v.IsNull() || v.IsUnknown() {
		return "", ""
	}
	canonical, err := v.Canonical()
	if err != nil {
		var k K
		diags.AddAttributeError(at, fmt.Sprintf("Invalid value for %s: not %s", at, k.Noun()),
			diagnostic.Sentence(err.Error()))
		return "", ""
	}
	return v.ValueString(), canonical
}

// keys refuses maps with a key of another form, and says what a key is.
type keys struct {
	Described
	form *regexp.Regexp
}

// ValidateMap implements validator.Map.
func (k keys) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for key := range req.ConfigValue.Elements() {
		if !k.form.MatchString(key) {
			resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(key),
				fmt.Sprintf("Invalid value for %s: key %q", req.Path, key), string(k.Described))
		}
	}
}
