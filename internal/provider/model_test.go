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
			"address": types.StringValue("192.0.2.20"), "connect_attempts": types.Int64Value(7), "identities_only": types.BoolNull(),
		},
		defaults: map[string]attr.Value{
			"agent_socket": types.StringValue("/run/agent"), "identities_only": types.BoolValue(true), "connect_attempts": types.Int64Value(2),
		},
	}
	cfg, err := s.transport()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.AgentSocket != "/run/agent" || cfg.IdentitiesOnly == nil || !*cfg.IdentitiesOnly || cfg.ConnectAttempts != 7 {
		t.Errorf("agent socket %q, identities only %v, attempts %d", cfg.AgentSocket, cfg.IdentitiesOnly, cfg.ConnectAttempts)
	}
	if cfg, err = (settings{own: s.own}).transport(); err != nil || cfg.IdentitiesOnly != nil || cfg.AgentSocket != "" {
		t.Errorf("what is set nowhere is left to ~/.ssh/config: %+v, %v", cfg, err)
	}
}
