package managed

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// interrupter is an object whose change can interrupt what uses the fabric on its host. Its Foresee says with
// Step.Interrupts whether that which it foresees does.
type interrupter[M, Q, L any] interface {
	// Drains is where a model has the drain commands.
	Drains(m *M) *types.List
	// Interrupts reports whether the change of what was found does.
	Interrupts(q Q, found L) bool
}

// cardInterrupter is the same of what is stored in a card. Its Plan fills Restart.Drains by PlannedDrains.
type cardInterrupter[M, Q, L, S any] interface {
	Interrupts(s *CardStep[M, Q, L, S]) bool
}

// PlannedDrains are the drain commands of a host that run before a change without a restart, if that interrupts and
// the configuration asks for them. Without them a plan says null.
func PlannedDrains(r *session.Resource, host string, interrupts types.Bool, last types.List,
	diags *diag.Diagnostics) types.List {
	policy := r.Hosts[host].Reboot
	asked := slices.Contains(policy.Around, strings.TrimPrefix(r.Kind, "infiniband_")) && len(policy.DrainCommands) > 0
	switch {
	case asked && interrupts.IsUnknown():
		return types.ListUnknown(types.StringType)
	case !asked || !interrupts.ValueBool():
		return types.ListNull(types.StringType)
	}
	commands := attribute.StringList(policy.DrainCommands)
	if commands.Equal(last) { // an engine hides what is equal
		diags.AddWarning("The apply drains host "+host,
			"Its drain_commands run before the change, and its resume_commands after it.")
	}
	return commands
}

// foreseeDrains says which commands the foreseen change of an object runs before.
func (r *Resource[M, Q, L, S]) foreseeDrains(s *Step[M, Q, L]) {
	if o, ok := r.object.(interrupter[M, Q, L]); ok {
		*o.Drains(s.Plan) = PlannedDrains(&r.Resource, r.object.Place(s.Ask).Host, s.Interrupts, *o.Drains(s.State), s.Diags)
	}
}

// drain is what runs around one change.
type drain struct {
	*session.Resource
	host   string // as the configuration calls it
	at     *hosts.Host
	what   string      // is changed: verb, thing and identity
	shown  *types.List // what the plan shows; the state has it then
	begins bool        // the change interrupts
	diags  *diag.Diagnostics
}

// around makes a change, and runs the host's commands around it if the plan has shown that or left it open. It reports
// whether it has. A drain command that fails stops the change; the resume commands run then, too.
func (d drain) around(ctx context.Context, do func(context.Context) error) (drained bool, err error) {
	if d.shown.IsUnknown() {
		*d.shown = PlannedDrains(d.Resource, d.host, types.BoolValue(d.begins), types.ListNull(types.StringType), d.diags)
	}
	if d.shown.IsNull() || !d.begins {
		return false, do(ctx)
	}
	defer d.Planned.Drain(d.host)()
	policy := d.Hosts[d.host].Reboot
	policy.Note = inventory.OwedNote
	err = reboot.Around(ctx, d.at, policy, do)
	if err == nil && d.diags.HasError() && len(policy.ResumeCommands) > 0 {
		d.addResumed()
	}
	var step *reboot.Error
	if !errors.As(err, &step) {
		return true, err
	}
	return true, d.failure(step)
}

func (d drain) addResumed() {
	d.diags.AddWarning("Host "+d.host+": the resume commands have run",
		"The host was drained, and the change failed after that. What the drain commands had stopped was given back.")
}

// failure is the error of a change that was drained for. What the resume commands left is told beside it.
func (d drain) failure(step *reboot.Error) error {
	left := &explain.Failure{
		Heading: "Unable to run the resume commands of host " + d.host,
		What:    "A resume command failed, or could not run, after the drain commands.",
		Means:   "What the drain commands have stopped may still be stopped.",
		Check:   step.ByHand(), Facts: []explain.Fact{{"Host", d.host}}, Err: step.UnresumedBy,
	}
	switch step.Step {
	case reboot.StepResume:
		left.What = "The change was made. A resume command failed after it."
		return left
	case reboot.StepReady:
		if left.Check != "" {
			diagnostic.AddError(d.diags, d.what, left)
		} else if step.Resumed {
			d.addResumed()
		}
		return step.Err
	}
	e := &explain.Failure{
		Heading: "Unable to " + d.what + ": a drain command failed",
		What:    "A drain command of host " + d.host + " failed, so the change was not begun.",
		Check:   "Mend what is named as the cause, and run apply again.",
		Facts:   []explain.Fact{{"Host", d.host}}, Err: step.Err,
	}
	if step.Resumed {
		e.Means = "The resume commands have run."
	}
	if left.Check != "" {
		e.Check = left.Check + "\n\n" + e.Check
	}
	return e
}
