package provider

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// schemas are the types of what a server answers with, asked for once.
type schemas struct {
	once      sync.Once
	resources map[string]tftypes.Type
	data      map[string]tftypes.Type
	err       error
}

func (s *schemas) read(ctx context.Context, server tfprotov6.ProviderServer) error {
	s.once.Do(func() {
		resp, err := server.GetProviderSchema(context.WithoutCancel(ctx), &tfprotov6.GetProviderSchemaRequest{})
		if s.err = err; err == nil {
			s.resources, s.data = typesOf(resp.ResourceSchemas), typesOf(resp.DataSourceSchemas)
		}
	})
	return s.err
}

func typesOf(schemas map[string]*tfprotov6.Schema) map[string]tftypes.Type {
	types := map[string]tftypes.Type{}
	for name, schema := range schemas {
		types[name] = schema.ValueType()
	}
	return types
}

// plainValue makes the texts that hosts have put into a value plain. Texts in written
// are from the configuration; an engine requires them unchanged.
func plainValue(typ tftypes.Type, value, written *tfprotov6.DynamicValue) error {
	if typ == nil || value == nil || isSame(value, written) {
		return nil
	}
	answered, err := value.Unmarshal(typ)
	if err != nil {
		return fmt.Errorf("reading an answer of the provider: %w", err)
	}
	plain, changed, err := visible(answered, nil)
	if err != nil || !changed {
		return err
	}
	if written != nil {
		own, bad := written.Unmarshal(typ)
		if bad != nil {
			return fmt.Errorf("reading what is configured: %w", bad)
		}
		if plain, _, err = visible(answered, texts(own)); err != nil {
			return err
		}
	}
	again, err := tfprotov6.NewDynamicValue(typ, plain)
	if err != nil {
		return fmt.Errorf("writing an answer of the provider: %w", err)
	}
	*value = again
	return nil
}

// isSame reports whether the engine has a value already, as that of most objects at most plans.
func isSame(value, has *tfprotov6.DynamicValue) bool {
	return value != nil && has != nil && len(has.MsgPack) > 0 && bytes.Equal(value.MsgPack, has.MsgPack)
}

// texts are all texts in a value.
func texts(v tftypes.Value) map[string]bool {
	all := map[string]bool{}
	_ = tftypes.Walk(v, func(_ *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		var text string
		if v.Type().Is(tftypes.String) && v.IsKnown() && !v.IsNull() && v.As(&text) == nil {
			all[text] = true
		}
		return true, nil
	})
	return all
}

// visible gives a value with its texts and the keys of its maps made visible, but for
// those of keep, and whether any was not.
func visible(v tftypes.Value, keep map[string]bool) (plain tftypes.Value, changed bool, err error) {
	shown := func(text string) string {
		plain := diagnostic.Visible(text)
		if plain == text || keep[text] {
			return text
		}
		changed = true
		return plain
	}
	plain, err = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		var (
			text  string
			named map[string]tftypes.Value
		)
		switch typ := v.Type(); {
		case !v.IsKnown() || v.IsNull():
		case typ.Is(tftypes.String) && v.As(&text) == nil:
			return tftypes.NewValue(typ, shown(text)), nil
		case typ.Is(tftypes.Map{}) && v.As(&named) == nil:
			all := make(map[string]tftypes.Value, len(named))
			for key, element := range named {
				all[shown(key)] = element
			}
			return tftypes.NewValue(typ, all), nil
		}
		return v, nil
	})
	return plain, changed, err
}
