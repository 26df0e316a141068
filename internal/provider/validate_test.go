package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func TestAddressProblem(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"nas": "", "nas.lab": "", "192.0.2.10": "", "2001:db8::10": "", "fe80::1%eth0": "", "my_alias": "",
		"127.0.0.1:22":      `The address contains a port: "127.0.0.1:22". Write address = "127.0.0.1" and port = 22.`,
		"nas:2222":          `Write address = "nas" and port = 2222.`,
		"[2001:db8::10]:22": `Write address = "2001:db8::10" and port = 22.`,
		"[2001:db8::10]":    `Write address = "2001:db8::10".`,
		"ops@nas":           `Write user = "ops" and address = "nas".`,
		"ssh://nas/":        `The address is a URL: "ssh://nas/". Write the name alone: address = "nas".`,
		"nas lab":           "a blank, a slash or a control character",
		"nas\x1b[31m":       `control character: "nas?[31m"`,
	} {
		if got := addressProblem(address); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%q: %q, expected %q", address, got, want)
		}
	}
}

// A key that no node has would name nothing.
func TestNamesValidator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, says string }{
		{"0x0002c902004a1b00", ""},
		{"0x0", "No node has this GUID"},
		{"0xffffffffffffffff", "No node has this GUID"},
		{"leaf", "The key is no GUID"},
	} {
		var resp validator.MapResponse
		namesValidator{}.ValidateMap(t.Context(), validator.MapRequest{Path: path.Root("node_name_map"),
			ConfigValue: types.MapValueMust(types.StringType, map[string]attr.Value{c.key: types.StringValue("a")})}, &resp)
		if text := fmt.Sprint(resp.Diagnostics); resp.Diagnostics.HasError() != (c.says != "") || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s", c.key, text)
		}
	}
}
