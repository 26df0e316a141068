package provider

import (
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
	resources map[string]*tfprotov6.Schema
	data      map[string]*tfprotov6.Schema
	err       error
}

func (s *schemas) read(ctx context.Context, server tfprotov6.ProviderServer) error {
	s.once.Do(func() {
		resp, err := server.GetProviderSchema(context.WithoutCancel(ctx), &tfprotov6.GetProviderSchemaRequest{})
		if s.err = err; err == nil {
			s.resources, s.data = resp.ResourceSchemas, resp.DataSourceSchemas
		}
	})
	return s.err
}

// plainValue makes the texts that hosts have put into a value plain. Texts in written
// are from the configuration; an engine requires them unchanged.
func plainValue(schema *tfprotov6.Schema, value, written *tfprotov6.DynamicValue) error {
	if schema == nil || value == nil {
		return nil
	}
	typ := schema.ValueType()
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
