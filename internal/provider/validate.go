package provider

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// address refuses what is no address, before a resolver is asked for it.
var address = attribute.CheckText{
	Described: "A name or an IP address, without a port and without a user.",
	Wrong:     func(text string) (string, string) { return "Invalid address of a host", addressProblem(text) },
}

// addressProblem says what is wrong with an address; empty if nothing is known to be.
func addressProblem(address string) string {
	if _, err := netip.ParseAddr(address); err == nil {
		return "" // also IPv6, with its colons
	}
	_, rest, scheme := strings.Cut(address, "://")
	user, host, at := strings.Cut(address, "@")
	name, port, colon := strings.Cut(address, ":")
	switch {
	case !attribute.HostNameForm.MatchString(address) && !scheme:
		return "The address holds a blank, a slash or a control character: " + quote(address) +
			". Write a name or an IP address."
	case scheme:
		return "The address is a URL: " + quote(address) + ". Write the name alone: address = " +
			quote(strings.TrimRight(rest, "/")) + "."
	case at:
		return "The address contains a user: " + quote(address) + ". Write user = " + quote(user) + " and address = " +
			quote(host) + "."
	case strings.HasPrefix(address, "["):
		inner, after, _ := strings.Cut(strings.TrimPrefix(address, "["), "]")
		return withPort(address, inner, strings.TrimPrefix(after, ":"))
	case colon:
		return withPort(address, name, port)
	}
	return ""
}

func withPort(address, name, port string) string {
	text := "The address contains a port: " + quote(address) + ". Write address = " + quote(name)
	if port != "" {
		text += " and port = " + port
	}
	return text + "."
}

func quote(s string) string { return `"` + strings.Map(printable, s) + `"` }

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '?'
	}
	return r
}

// fabricsValidator refuses members that are no port and no host, and those of two fabrics.
type fabricsValidator struct{ attribute.Described }

func (fabricsValidator) ValidateMap(ctx context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	var hosts types.Map
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("hosts"), &hosts)...)
	holder := map[string]string{}
	all := req.ConfigValue.Elements()
	for _, fabric := range slices.Sorted(maps.Keys(all)) {
		members, _ := all[fabric].(types.Set)
		for _, member := range members.Elements() {
			name := attribute.StringOf(member)
			guid, err := ib.ParseGUID(name)
			_, known := hosts.Elements()[name]
			switch {
			case member.IsUnknown():
				continue
			case err == nil && !guid.IsNone():
				name = guid.String()
			case !known && !hosts.IsUnknown():
				resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(fabric), "Invalid member of fabric "+quote(fabric),
					quote(name)+" is no port GUID and no key of hosts. Write the GUID of a port, or the key of a host whose "+
						"ports are all on this fabric.")
			}
			if first, twice := holder[name]; twice {
				resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(fabric), "Invalid member of fabric "+quote(fabric),
					fmt.Sprintf("%s is on the fabric %s, too. A port has one cable. Name it in one fabric.", name, quote(first)))
			}
			holder[name] = fabric
		}
	}
}

// namesValidator refuses GUIDs and names that are there twice, and names that a node name map cannot hold.
type namesValidator struct{ attribute.Described }

func (namesValidator) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	guids, names := map[ib.GUID]string{}, map[string]string{}
	all := req.ConfigValue.Elements()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		problem := ""
		guid, err := ib.ParseGUID(key)
		name := attribute.StringOf(all[key])
		spelled, twice := guids[guid]
		holder, taken := names[name]
		switch {
		case err != nil:
			problem = "The key is no GUID: " + err.Error() + "."
		case guid.IsNone():
			problem = "No node has this GUID. Write the node GUID, as ibnetdiscover or infiniband_fabric shows it."
		case twice:
			problem = "The GUID is there twice, also as " + quote(spelled) + ". Write it once."
		case all[key].IsUnknown():
		case name == "" || len(name) > 64 || strings.ContainsAny(name, "#\"\n\r") || quote(name) != `"`+name+`"`:
			problem = "The name is " + quote(name) + ". It must have 1 to 64 bytes without quotes, # and control characters, " +
				"as a node description has."
		case taken:
			problem = "The node " + quote(holder) + " has the name " + quote(name) + ", too. Give each node its own."
		}
		if problem != "" {
			resp.Diagnostics.AddAttributeError(req.Path.AtMapKey(key), "Invalid node name of "+key, problem)
		}
		guids[guid], names[name] = key, key
	}
}
