package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// named are the attributes that are the name of a host, or begin with it and a slash.
var named = []string{"host", "id", "card_id", "image_id"}

// renamingServer has a state speak of the host that it is of by its present name, if the key of that
// host in the provider's hosts map was renamed. It is here because all resources pass before they ask
// a host.
type renamingServer struct {
	tfprotov6.ProviderServer
	provider *Provider
	types    schemas
}

func (s *renamingServer) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	if err := s.follow(ctx, req); err != nil {
		return nil, err
	}
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if err == nil {
		keepIdentity(req, resp)
	}
	return resp, err
}

func (s *renamingServer) follow(ctx context.Context, req *tfprotov6.ReadResourceRequest) error {
	if s.provider.session == nil || s.types.read(ctx, s.ProviderServer) != nil || s.types.resources[req.TypeName] == nil {
		return nil //nolint:nilerr // what the types are is asked again by those that need them
	}
	typ := s.types.resources[req.TypeName]
	state, err := req.CurrentState.Unmarshal(typ)
	if err != nil {
		return nil //nolint:nilerr // the framework says what is wrong with a state
	}
	old, is := s.provider.session.Renamed(ctx, textsOf(state))
	if is == "" {
		return nil
	}
	state, err = renamed(state, old, is)
	if err != nil {
		return err
	}
	*req.CurrentState, err = tfprotov6.NewDynamicValue(typ, state)
	return err
}

// keepIdentity leaves the identity of an object as it was: an engine takes a refresh that changes it
// for a fault. The next update of the object stores the present one.
func keepIdentity(req *tfprotov6.ReadResourceRequest, resp *tfprotov6.ReadResourceResponse) {
	if req.CurrentIdentity == nil || req.CurrentIdentity.IdentityData == nil || resp.NewIdentity == nil {
		return
	}
	if null, err := req.CurrentIdentity.IdentityData.IsNull(); err == nil && !null {
		resp.NewIdentity = req.CurrentIdentity
	}
}

// textsOf are the attributes of an object that are texts, by name.
func textsOf(v tftypes.Value) map[string]string {
	var attrs map[string]tftypes.Value
	all := map[string]string{}
	if v.As(&attrs) != nil {
		return all
	}
	for name, a := range attrs {
		var text string
		if a.Type().Is(tftypes.String) && a.IsKnown() && !a.IsNull() && a.As(&text) == nil {
			all[name] = text
		}
	}
	return all
}

// renamed is an object with another name of its host.
func renamed(v tftypes.Value, old, is string) (tftypes.Value, error) {
	var attrs map[string]tftypes.Value
	if err := v.As(&attrs); err != nil {
		return v, err
	}
	texts := textsOf(v)
	for _, name := range named {
		if rest, of := strings.CutPrefix(texts[name]+"/", old+"/"); of {
			attrs[name] = tftypes.NewValue(tftypes.String, strings.TrimSuffix(is+"/"+rest, "/"))
		}
	}
	return tftypes.NewValue(v.Type(), attrs), nil
}
