package ipoib

import (
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

var routeTypes = map[string]attr.Type{"to": types.StringType, "via": types.StringType}

func routesAttribute() schema.Attribute {
	return schema.SetNestedAttribute{
		Optional: true,
		MarkdownDescription: "Static routes through the interface, not on TrueNAS; a default route is `0.0.0.0/0` or " +
			"`::/0`, and refused where another interface has one. Routes that others add are left alone: see [Routes of " +
			"others](#routes-of-others).",
		Validators: []validator.Set{setvalidator.SizeAtLeast(1)},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"to": schema.StringAttribute{
				Required: true, MarkdownDescription: "Network with its prefix length, `10.20.0.0/16`.",
				Validators: []validator.String{network},
			},
			"via": schema.StringAttribute{
				Required: true, MarkdownDescription: "Gateway: another host of one of the subnets of the interface.",
				Validators: []validator.String{gateway},
			},
		}},
	}
}

// network takes a network in canonical form, because a set compares text.
var network = attribute.CheckText{Described: "a network with its prefix length", Wrong: func(text string) (_,
	problem string) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		problem = text + " is not a network with its prefix length, such as 10.20.0.0/16."
	case p.Masked().String() != text:
		problem = text + " has bits behind its prefix length, or another spelling. Write " + p.Masked().String() + "."
	}
	return "Invalid network", problem
}}

// gateway takes an IP address in canonical form.
var gateway = attribute.CheckText{Described: "an IP address", Wrong: func(text string) (_, problem string) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || a.Zone() != "":
		problem = text + " is not an IP address."
	case a.String() != text:
		problem = text + " has another spelling. Write " + a.String() + "."
	}
	return "Invalid IP address", problem
}}

func routesOf(set types.Set) ([]ipoib.Route, error) {
	var all []ipoib.Route
	for _, v := range set.Elements() {
		object, ok := v.(types.Object)
		if !ok {
			continue
		}
		to, _ := object.Attributes()["to"].(types.String)
		via, _ := object.Attributes()["via"].(types.String)
		r, err := ipoib.ParseRoute(to.ValueString(), via.ValueString())
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// routeSet is null without routes, as a configuration that leaves them out.
func routeSet(routes []ipoib.Route) types.Set {
	object := types.ObjectType{AttrTypes: routeTypes}
	if len(routes) == 0 {
		return types.SetNull(object)
	}
	elems := make([]attr.Value, len(routes))
	for i, r := range routes {
		elems[i] = types.ObjectValueMust(routeTypes, map[string]attr.Value{
			"to": types.StringValue(r.To.String()), "via": types.StringValue(r.Via.String()),
		})
	}
	return attribute.SetOf(object, elems)
}
