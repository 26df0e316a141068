package acctest

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// Import adopts an object by its id and reads it, as core does.
func (w *Workspace) Import(ctx context.Context, address Resource, id string) (Diags, error) {
	return w.adopt(ctx, address, func() (*tfprotov6.ImportResourceStateRequest, error) {
		return &tfprotov6.ImportResourceStateRequest{TypeName: address.Type, ID: id}, nil
	})
}

// ImportByIdentity is Import by the attributes of an identity.
func (w *Workspace) ImportByIdentity(ctx context.Context, address Resource, identity map[string]any) (Diags, error) {
	return w.adopt(ctx, address, func() (*tfprotov6.ImportResourceStateRequest, error) {
		typ, err := identityType(address.Type)
		if err != nil {
			return nil, err
		}
		value, err := Encode(typ, identity)
		if err != nil {
			return nil, err
		}
		data := &tfprotov6.ResourceIdentityData{IdentityData: dynamic(typ, value)}
		return &tfprotov6.ImportResourceStateRequest{TypeName: address.Type, Identity: data}, nil
	})
}

func (w *Workspace) adopt(ctx context.Context, address Resource,
	by func() (*tfprotov6.ImportResourceStateRequest, error)) (Diags, error) {
	defer w.Ended()
	p, found, err := w.start(ctx)
	if err != nil || found.HasError() {
		return found, err
	}
	_, typ, err := p.resourceType(address.Type)
	if err != nil {
		return found, err
	}
	req, err := by()
	if err != nil {
		return found, err
	}
	resp, err := p.server.ImportResourceState(ctx, req)
	if err != nil {
		return found, err
	}
	found = append(found, diagsOf(PhaseRead, address.Address(), resp.Diagnostics)...)
	if found.HasError() || len(resp.ImportedResources) != 1 {
		return found, nil
	}
	obj := &Object{Type: address.Type, Private: resp.ImportedResources[0].Private,
		Identity: resp.ImportedResources[0].Identity}
	if obj.Value, err = resp.ImportedResources[0].State.Unmarshal(typ); err != nil {
		return found, err
	}
	w.State[address.Address()] = obj
	read, err := w.refresh(ctx, p)
	return append(found, read...), err
}

var identitySchemas = sync.OnceValues(func() (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return provider.Server(provider.New("test")()).GetResourceIdentitySchemas(context.Background(),
		&tfprotov6.GetResourceIdentitySchemasRequest{})
})

// identityType gives the object type of a resource's identity.
func identityType(name string) (tftypes.Type, error) {
	all, err := identitySchemas()
	if err != nil {
		return nil, err
	}
	schema, ok := all.IdentitySchemas[name]
	if !ok {
		return nil, fmt.Errorf("%s has no identity", name)
	}
	return schema.ValueType(), nil
}

// Identity gives the identity that the state holds of an object; nil if none.
func (w *Workspace) Identity(address string) map[string]any {
	obj, ok := w.State[address]
	if !ok {
		return nil
	}
	return identityOf(obj.Type, obj.Identity)
}

func identityOf(name string, data *tfprotov6.ResourceIdentityData) map[string]any {
	typ, err := identityType(name)
	if err != nil || data == nil {
		return nil
	}
	value, err := data.IdentityData.Unmarshal(typ)
	if err != nil {
		return nil
	}
	out, _ := Decode(value).(map[string]any)
	return out
}
