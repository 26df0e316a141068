package attribute

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// BindsTheApply says what a change that a plan shows means for its apply.
const BindsTheApply = "The apply makes no other change; see " +
	"[what a plan binds](../guides/security.md#what-a-plan-binds)."

// LeftToHost says of an attribute that the restart of the host changes what activation = "host" means for it: the
// apply of one resource cannot write into the state of another one.
const LeftToHost = " Null after an apply with `activation = \"host\"` that waits for the restart, until the next refresh: " +
	"`running` of `infiniband_activation` says what runs then."

// Restart is the restart of a host that a change of a card makes. Models embed it.
type Restart struct {
	Restarts types.String `tfsdk:"restarts"`
	Drains   types.List   `tfsdk:"drains"`
}

// NoRestart is that of a change that needs none, UnknownRestart one that the apply decides.
func NoRestart() Restart { return Restart{types.StringNull(), types.ListNull(types.StringType)} }

// UnknownRestart: see NoRestart.
func UnknownRestart() Restart {
	return Restart{types.StringUnknown(), types.ListUnknown(types.StringType)}
}

// Announced reports whether the plan has said that the host is restarted, or could not say it.
func (r Restart) Announced() bool { return !r.Restarts.IsNull() }

// ShownAfter reports whether a plan shows the restart: a state keeps that of its last change, and an
// engine hides what is equal.
func (r Restart) ShownAfter(last Restart) bool {
	return !r.Restarts.IsUnknown() && !r.Restarts.Equal(last.Restarts)
}

// RestartAttributes are the attributes of a Restart.
func RestartAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"restarts": ComputedString("Host that the apply restarts, or that the last change restarted; null if there is " +
			"none. Known after the apply, with a warning, where another resource may restart it first."),
		"drains": ComputedList(types.StringType, "The provider's `drain_commands`, which run on that host before."),
	}
}

// Drains is the attribute with the commands that run before a change without a restart, where drain_around asks for
// that.
func Drains(when string) schema.ListAttribute {
	return ComputedList(types.StringType, "The provider's `drain_commands`, which run before the change if "+when+
		" and [`drain_around`](../index.md#drain-around-other-changes) asks for that; null if none run.")
}
