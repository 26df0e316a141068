// Package functions holds the provider-defined functions. They are pure: the
// same arguments give the same result on every machine.
//
// It must not ask a host or the environment.
package functions

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// All returns the constructors of the functions.
func All() []func() function.Function {
	var all []func() function.Function
	for _, f := range []pure{guidFromMAC, guidsFromBase, parsePSID, ipoibMaxMTU} {
		all = append(all, func() function.Function { return f })
	}
	return all
}

// pure is a function: what it is called, what it takes and gives, and how.
type pure struct {
	name       string
	definition function.Definition
	run        func(ctx context.Context, given function.ArgumentsData) (result any, wrong *function.FuncError)
}

// Metadata implements function.Function.
func (p pure) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = p.name
}

// Definition implements function.Function.
func (p pure) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = p.definition
}

// Run implements function.Function.
func (p pure) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	result, wrong := p.run(ctx, req.Arguments)
	if resp.Error = wrong; wrong == nil {
		resp.Error = resp.Result.Set(ctx, result)
	}
}

// parsed reads the one argument of a function.
func parsed[T any](ctx context.Context, given function.ArgumentsData, parse func(string) (T, error)) (value T,
	wrong *function.FuncError) {
	var text string
	if wrong = given.Get(ctx, &text); wrong != nil {
		return value, wrong
	}
	value, err := parse(text)
	if err != nil {
		return value, attribute.ArgumentError(0, err)
	}
	return value, nil
}

var guidFromMAC = pure{
	name: "guid_from_mac",
	definition: function.Definition{
		Summary: "GUID that belongs to a MAC address",
		MarkdownDescription: "Derives a GUID from a MAC address as the card vendor does: `0300` goes between the two " +
			"halves, so that `e4:1d:2d:e4:4e:d0` becomes `0xe41d2d0300e44ed0`.",
		Parameters: []function.Parameter{function.StringParameter{
			Name: "mac", CustomType: attribute.MACType{},
			MarkdownDescription: "MAC address, with colons, dashes or no separator.",
		}},
		Return: function.StringReturn{},
	},
	run: func(ctx context.Context, given function.ArgumentsData) (any, *function.FuncError) {
		mac, wrong := parsed(ctx, given, ib.ParseMAC)
		if wrong == nil && (mac.IsZero() || mac.IsMulticast()) {
			wrong = function.NewArgumentFuncError(0,
				fmt.Sprintf("The MAC %s is not the address of a device: it is zero, broadcast or a group address.", mac))
		}
		return ib.GUIDFromMAC(mac).String(), wrong
	},
}

type guidSet struct {
	NodeGUID   types.String `tfsdk:"node_guid"`
	PortGUIDs  types.Map    `tfsdk:"port_guids"`
	SystemGUID types.String `tfsdk:"system_image_guid"`
}

var guidsFromBase = pure{
	name: "guids_from_base",
	definition: function.Definition{
		Summary: "GUIDs of a card by their base",
		MarkdownDescription: "Lays out the GUIDs of a ConnectX-3 as the vendor's tool does: node, port 1, port 2 and " +
			"system image are the base plus 0 to 3. `port_guids` has them by port. " +
			"A base that would wrap around is an error.",
		Parameters: []function.Parameter{function.StringParameter{
			Name: "base_guid", CustomType: attribute.GUIDType{}, MarkdownDescription: "The node GUID, in any usual spelling.",
		}},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"node_guid": types.StringType, "port_guids": types.MapType{ElemType: types.StringType},
			"system_image_guid": types.StringType,
		}},
	},
	run: func(ctx context.Context, given function.ArgumentsData) (any, *function.FuncError) {
		base, wrong := parsed(ctx, given, ib.ParseGUID)
		if wrong != nil {
			return nil, wrong
		}
		node, port1, port2, system, err := ib.GUIDsFromBase(base)
		if err != nil {
			return nil, attribute.ArgumentError(0, err)
		}
		return guidSet{
			NodeGUID:   types.StringValue(node.String()),
			PortGUIDs:  attribute.StringMap(map[string]string{"1": port1.String(), "2": port2.String()}),
			SystemGUID: types.StringValue(system.String()),
		}, nil
	},
}

type psidParts struct {
	PSID   types.String `tfsdk:"psid"`
	Vendor types.String `tfsdk:"vendor"`
	OEM    types.Bool   `tfsdk:"oem"`
}

var parsePSID = pure{
	name: "parse_psid",
	definition: function.Definition{
		Summary: "Who issued a PSID",
		MarkdownDescription: "Checks a PSID and tells who issued it: `psid` as given, `vendor` (null if the prefix is not " +
			"known) and `oem`, which is true for boards of other companies than Mellanox and NVIDIA. Which image fits a board " +
			"is decided by the silicon's ids and the PSID, never by a vendor's name.",
		Parameters: []function.Parameter{function.StringParameter{
			Name: "psid", CustomType: attribute.PSIDType{}, MarkdownDescription: "The PSID; case matters.",
		}},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"psid": types.StringType, "vendor": types.StringType, "oem": types.BoolType,
		}},
	},
	run: func(ctx context.Context, given function.ArgumentsData) (any, *function.FuncError) {
		psid, wrong := parsed(ctx, given, ib.ParsePSID)
		out := psidParts{PSID: types.StringValue(psid.String()), Vendor: types.StringNull(), OEM: types.BoolNull()}
		if v := psid.Vendor(); v != "" {
			out.Vendor = types.StringValue(v)
			out.OEM = types.BoolValue(v != "Mellanox" && v != "NVIDIA")
		}
		return out, wrong
	},
}

var ipoibMaxMTU = pure{
	name: "ipoib_max_mtu",
	definition: function.Definition{
		Summary: "Largest MTU of an IPoIB interface",
		MarkdownDescription: "Gives the largest MTU in bytes that an IPoIB interface can have. In datagram mode it is the " +
			"IB MTU less 4 bytes of encapsulation: 2044 or 4092. In connected mode it is 65520, whatever the IB MTU is.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "mode", MarkdownDescription: "`datagram` or `connected`."},
			function.Int64Parameter{Name: "ib_mtu", MarkdownDescription: "IB MTU of the fabric: 256, 512, 1024, 2048 or 4096."},
		},
		Return: function.Int64Return{},
	},
	run: func(ctx context.Context, given function.ArgumentsData) (any, *function.FuncError) {
		var (
			modeText string
			ibMTU    int64
		)
		if wrong := given.Get(ctx, &modeText, &ibMTU); wrong != nil {
			return nil, wrong
		}
		mode, err := ib.ParseIPoIBMode(modeText)
		if err != nil {
			return nil, attribute.ArgumentError(0, err)
		}
		if ib.MaxMTU(ib.ModeDatagram, int(ibMTU)) == 0 {
			return nil, function.NewArgumentFuncError(1,
				fmt.Sprintf("%d is no InfiniBand MTU: want 256, 512, 1024, 2048 or 4096", ibMTU))
		}
		return int64(ib.MaxMTU(mode, int(ibMTU))), nil
	},
}
