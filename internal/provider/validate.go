package provider

import (
	"context"
	"net/netip"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// addressValidator refuses what is no address, before a resolver is asked for it.
type addressValidator struct{}

func (addressValidator) Description(context.Context) string {
	return "A name or an IP address, without a port and without a user."
}

func (v addressValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (addressValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if wrong := addressProblem(req.ConfigValue.ValueString()); wrong != "" {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid address of a host", wrong)
	}
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
