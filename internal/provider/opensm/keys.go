package opensm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// keysAttributes are the keys of the fabric, of which no plan and no state has more than the version.
func keysAttributes() map[string]schema.Attribute {
	key := func(what string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, WriteOnly: true, Sensitive: true, MarkdownDescription: what,
			Validators: []validator.String{keyValidator{}}}
	}
	number := func(what string, least, most int64) schema.Int64Attribute {
		return schema.Int64Attribute{Optional: true, MarkdownDescription: what,
			Validators: []validator.Int64{int64validator.Between(least, most),
				int64validator.AlsoRequires(path.MatchRoot("keys"))}}
	}
	return map[string]schema.Attribute{
		"keys": schema.SingleNestedAttribute{
			Optional: true, WriteOnly: true,
			MarkdownDescription: "Keys of the fabric: 64 bits in hexadecimal. No plan, state or log of the provider holds " +
				"them. One that is left out has opensm's default. See [Security keys](#security-keys).",
			Validators: []validator.Object{objectvalidator.AlsoRequires(path.MatchRoot("keys_version"))},
			Attributes: map[string]schema.Attribute{
				"m_key":  key("M_Key of all ports: only who knows it can change a port."),
				"sm_key": key("SM_Key: subnet managers with another one are ignored. All of one fabric need the same."),
				"sa_key": key("Key of trusted queries to the subnet administrator, as `saquery --smkey` sends it."),
			},
		},
		"m_key_protection_level": number("Protection of the `m_key` in `keys`, 0 (default) to 3. At 0 every host can read "+
			"the M_Key, at 1 none can, at 2 and 3 ports answer nobody without it, diagnostics included (SM042).", 0, 3),
		"m_key_lease_period": number("Seconds after which a port that was asked with a wrong M_Key drops its protection, "+
			"unless somebody with the right one asks it before, 11 to 65535. It is the way back if the keys are lost: "+
			"without it the protection lasts until the port is powered off (SM043).", 11, 65535),
		"keys_version": schema.Int64Attribute{
			Optional: true,
			MarkdownDescription: "Version of `keys`: raise it with every change of them for all subnet managers of the fabric, " +
				"because a plan sees no other sign. 0, without `keys`, takes the keys out of the fabric.",
			Validators: []validator.Int64{int64validator.AtLeast(0)},
		},
	}
}

// shownKeys are what a plan and a state have of the keys.
func (m *model) shownKeys() ops.FabricKeys {
	return ops.FabricKeys{Version: int(m.KeysVersion.ValueInt64()), Protection: int(m.Protection.ValueInt64()),
		Lease: int(m.Lease.ValueInt64())}
}

// fabricKeys are the keys of a configuration with what a model shows of them.
func (m *model) fabricKeys(config types.Object) ops.FabricKeys {
	k := m.shownKeys()
	given := attribute.ConsentsOf(config)
	for _, value := range given {
		if value.IsUnknown() {
			return k
		}
	}
	if k.Version == 0 || len(given) == 0 {
		return k
	}
	key := func(name string, otherwise ops.Secret) ops.Secret {
		text, _ := given[name].(types.String)
		if v, ok := parseKey(text.ValueString()); ok {
			return v
		}
		return otherwise
	}
	k.Known, k.M, k.SM, k.SA = true, key("m_key", 0), key("sm_key", ops.DefaultKey), key("sa_key", ops.DefaultKey)
	return k
}

// checkGiven refuses keys that protect nothing: they would open the fabric.
func checkGiven(k ops.FabricKeys) error {
	switch {
	case !k.Known || k.M != 0:
	case k.SM == ops.DefaultKey && k.SA == ops.DefaultKey:
		return errors.New("there is no key in keys. keys_version = 0 without keys takes them out of the fabric")
	case k.Protection > 0 || k.Lease > 0:
		return errors.New("m_key_protection_level and m_key_lease_period need an m_key, and keys has none")
	}
	return nil
}

func parseKey(text string) (ops.Secret, bool) {
	digits, hex := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	return ops.Secret(n), hex && err == nil && n > uint64(ops.DefaultKey)
}

// keyValidator takes 64 bits, and says nothing of what it got.
type keyValidator struct{}

func (keyValidator) Description(context.Context) string {
	return "must be 1 to 16 hexadecimal digits after 0x, and neither 0 nor 1: these protect nothing"
}

func (v keyValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v keyValidator) ValidateString(ctx context.Context, req validator.StringRequest,
	resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, ok := parseKey(req.ConfigValue.ValueString()); !ok {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Invalid value for %s", req.Path),
			"It "+v.Description(ctx)+".")
	}
}

// validateKeys refuses a version that does not fit, and what would show the keys.
func validateKeys(config *model, diags *diag.Diagnostics) {
	version := config.KeysVersion
	if attribute.Known(version) && !version.IsNull() && (version.ValueInt64() == 0) != config.FabricKeys.IsNull() {
		diags.AddAttributeError(path.Root("keys_version"), "Invalid value for keys_version",
			"With keys it is at least 1. Without keys it is 0, which takes the keys out of the fabric, or is left out.")
	}
	if err := checkGiven(config.fabricKeys(config.FabricKeys)); err != nil {
		diags.AddAttributeError(path.Root("keys"), "Invalid value for keys", diagnostic.Sentence(err.Error()))
	}
	if !config.FabricKeys.IsNull() && config.LogLevel.ValueString() == "debug" {
		diags.AddAttributeError(path.Root("log_level"), "Invalid value for log_level",
			"At \"debug\" opensm writes the keys of the fabric into its log. Use \"verbose\", or leave keys out.")
	}
}
