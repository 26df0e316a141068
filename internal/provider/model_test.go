package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// What a host does not set comes from the defaults of all hosts, and reaches the
// transport.
func TestSettings_transport(t *testing.T) {
	s := settings{
		own: map[string]attr.Value{
			"address": types.StringValue("192.0.2.20"), "connect_attempts": types.Int64Value(7),
			"identities_only": types.BoolNull(),
		},
		defaults: map[string]attr.Value{
			"agent_socket": types.StringValue("/run/agent"), "identities_only": types.BoolValue(true),
			"connect_attempts": types.Int64Value(2),
		},
	}
	cfg := s.transport()
	if cfg.AgentSocket != "/run/agent" || cfg.IdentitiesOnly == nil || !*cfg.IdentitiesOnly || cfg.ConnectAttempts != 7 {
		t.Errorf("agent socket %q, identities only %v, attempts %d", cfg.AgentSocket, cfg.IdentitiesOnly, cfg.ConnectAttempts)
	}
	if cfg = (settings{own: s.own}).transport(); cfg.IdentitiesOnly != nil || cfg.AgentSocket != "" {
		t.Errorf("what is set nowhere is left to ~/.ssh/config: %+v", cfg)
	}
}

// Each host on the way has its own login; the password of the host itself, which may
// come from the environment, is not shown to it.
func TestSettings_jumpHosts(t *testing.T) {
	t.Setenv("INFINIBAND_SSH_PASSWORD", "of the host")
	hop := func(attrs map[string]attr.Value) types.Object {
		kinds := map[string]attr.Type{}
		for name, v := range attrs {
			kinds[name] = v.Type(t.Context())
		}
		return types.ObjectValueMust(kinds, attrs)
	}
	first := hop(map[string]attr.Value{
		"address": types.StringValue("gate"), "user": types.StringValue("guest"),
		"password": types.StringValue("of the gate"), "port": types.Int64Value(2222),
	})
	own := map[string]attr.Value{
		"address": types.StringValue("192.0.2.20"), "jump_hosts": types.ListValueMust(first.Type(t.Context()),
			[]attr.Value{first}),
	}
	cfg := settings{own: own}.transport()
	if cfg.Password != "of the host" || len(cfg.Jumps) != 1 {
		t.Fatalf("%+v", cfg)
	}
	if j := cfg.Jumps[0]; j.Address != "gate" || j.User != "guest" || j.Port != 2222 || j.Password != "of the gate" {
		t.Errorf("%+v", j)
	}
	bare := hop(map[string]attr.Value{"address": types.StringValue("gate")})
	own["jump_hosts"] = types.ListValueMust(bare.Type(t.Context()), []attr.Value{bare})
	if j := (settings{own: own}).transport().Jumps[0]; j.Password != "" {
		t.Errorf("the jump host is given the password %q", j.Password)
	}
	own["jump_hosts"] = types.ListValueMust(bare.Type(t.Context()), nil)
	if jumps := (settings{own: own}).transport().Jumps; jumps == nil || len(jumps) != 0 {
		t.Errorf("an empty list overrules ProxyJump: %v", jumps)
	}
}

// A host's own mode and reboot win over those of the provider, each as a whole.
func TestSettings_defaultsOfAllHosts(t *testing.T) {
	reboot := func(allowed bool) types.Object {
		return types.ObjectValueMust(map[string]attr.Type{"allowed": types.BoolType},
			map[string]attr.Value{"allowed": types.BoolValue(allowed)})
	}
	m := model{Mode: types.StringValue(modeObserve), Reboot: reboot(true)}
	if got := (settings{defaults: m.defaults()}).policy(); !got.Observe || !got.RebootAllowed {
		t.Errorf("%+v", got)
	}
	own := map[string]attr.Value{"mode": types.StringValue(modeManage), "reboot": reboot(false)}
	got := settings{own: own, defaults: m.defaults()}
	if p := got.policy(); p.Observe || p.RebootAllowed || got.transport().Observe {
		t.Errorf("%+v", p)
	}
}
