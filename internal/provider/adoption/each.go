package adoption

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Types are the types of what can be adopted.
func Types() []string { return slices.Clone(order) }

// Each imports the objects of one type, one after the other. One that cannot be imported
// has a reason; what is not there is left out. An error is the last one.
func (f *Lab) Each(ctx context.Context, kind string, start Starter) iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		w, err := start(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, o := range f.objects {
			if o.Type != kind {
				continue
			}
			if err = errors.Join(ctx.Err(), o.take(ctx, w)); err != nil {
				yield(nil, err)
				return
			}
			if o.there() && !yield(o, nil) {
				return
			}
		}
	}
}

// there reports whether there is something to say of an object after its import.
func (o *Object) there() bool { return o.Reason != nil || o.attrs != nil && o.worth() }

// titles are the attributes that say what an object is.
var titles = map[string][]string{
	cardType: {"chip", "part_number"}, firmwareType: {"flash_psid", "flash_version"}, guidsType: {"node_guid"},
	smType: {"unit"}, ipoibType: {"interface", "network_stack"},
}

// Title names an object for a reader of a list: its id, and what it is.
func (o *Object) Title() string {
	var more []string
	for _, name := range titles[o.Type] {
		if text := o.is(name); text != "" {
			more = append(more, text)
		}
	}
	if len(more) == 0 {
		return o.ID
	}
	return o.ID + " (" + strings.Join(more, ", ") + ")"
}

// State is what the import has read.
func (o *Object) State() tftypes.Value { return o.state }

// Identity is who the object is, as a value of its identity schema.
func (o *Object) Identity(typ tftypes.Type) (tftypes.Value, error) {
	if o.identity == nil || o.identity.IdentityData == nil {
		return tftypes.Value{}, errors.New("the provider gives no identity. This is a bug in the provider")
	}
	value, err := o.identity.IdentityData.Unmarshal(typ)
	if err != nil {
		return tftypes.Value{}, fmt.Errorf("an identity of the provider: %w", err)
	}
	return value, nil
}
