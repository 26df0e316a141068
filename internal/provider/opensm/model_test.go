package opensm

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A plan knows the role of a subnet manager only where that serves already and goes on with the same priority.
func TestForesee_role(t *testing.T) {
	t.Parallel()
	serves := model{Active: types.BoolValue(true), Priority: types.Int64Value(5), PortState: types.StringValue("Active"),
		SMLID: types.Int64Value(1), Role: types.StringValue("master")}
	none, stopped, down := serves, serves, serves
	none.Role, stopped.Active, down.PortState = types.StringNull(), types.BoolValue(false), types.StringValue("Down")
	for _, tt := range []struct {
		name     string
		was      model
		change   string
		priority int64
		known    bool
	}{
		{"serves", serves, "has opensm@1 read its files again", 5, true},
		{"restarts", serves, "restarts opensm@1", 5, false},
		{"another priority", serves, "has opensm@1 read its files again", 6, false},
		{"no role yet", none, "has opensm@1 read its files again", 5, false},
		{"stopped", stopped, "starts opensm@1", 5, false},
		{"no link", down, "has opensm@1 read its files again", 5, false},
	} {
		plan := model{PortState: types.StringValue("Active"), Priority: types.Int64Value(tt.priority),
			SMLID: types.Int64Unknown(), Role: types.StringUnknown()}
		plan.foresee(&tt.was, tt.change)
		if known := !plan.Role.IsUnknown() && !plan.SMLID.IsUnknown(); known != tt.known {
			t.Errorf("%s: role is %s, sm_lid is %s", tt.name, plan.Role, plan.SMLID)
		}
	}
}
