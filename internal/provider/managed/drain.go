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
	switch asked := drainsAround(r, host); {
	case asked && interrupts.IsUnknown():
		return types.ListUnknown(types.StringType)
	case !asked || !interrupts.ValueBool():
		return types.ListNull(types.StringType)
	}
	commands := attribute.StringList(r.Hosts[host].Reboot.DrainCommands)
	if commands.Equal(last) { // an engine hides what is equal
		diags.AddWarning("The apply drains host "+host,
			"Its drain_commands run before the change, and its resume_commands after it.")
	}
	return commands
}

// drainsAround reports whether the configuration asks for the commands of a host around such changes.
func drainsAround(r *session.Resource, host string) bool {
	p := r.Hosts[host].Reboot
	return slices.Contains(p.Around, strings.TrimPrefix(r.Kind, "infiniband_")) && len(p.DrainCommands) > 0
}

// foreseeDrains says which commands the foreseen change of an object runs before.
func (r *Resource[M, Q, L, S]) foreseeDrains(s *Step[M, Q, L]) {
	if o, ok := r.object.(interrupter[M, Q, L]); ok {
		*o.Drains(s.Plan) = PlannedDrains(&r.Resource, r.object.Place(s.Ask).Host, s.Interrupts, *o.Drains(s.State), s.Diags)
	}
}

// Drain is what runs around one change.
type Drain struct {
	*session.Resource
	Name   string // of the host, as the configuration calls it
	Host   *hosts.Host
	What   string      // is changed: verb, thing and identity
	Shown  *types.List // what the plan shows; the state has it then
	Begins bool        // the change interrupts
	Diags  *diag.Diagnostics
	Late   *diag.Diagnostics // see session.Change
}

// Applies reports whether the commands run: the plan has shown that, or it has left it open and the change interrupts.
// What a plan shows runs also where nothing is interrupted any more: a state cannot say that it did not.
func (d Drain) Applies() bool {
	if d.Shown.IsUnknown() {
		*d.Shown = PlannedDrains(d.Resource, d.Name, types.BoolValue(d.Begins), types.ListNull(types.StringType), d.Diags)
	}
	return !d.Shown.IsNull() && drainsAround(d.Resource, d.Name)
}

// Around makes a change, and runs the commands of its host around it where they apply. A drain command that fails stops
// the change; the resume commands run then, too.
func (d Drain) Around(ctx context.Context, do func(context.Context) error) error {
	if !d.Applies() {
		return do(ctx)
	}
	defer d.Planned.Drain(d.Name)()
	policy := d.Hosts[d.Name].Reboot
	policy.Note = inventory.OwedNote
	err := reboot.Around(ctx, d.Host, policy, do)
	if err == nil && d.Diags.HasError() && len(policy.ResumeCommands) > 0 {
		d.addResumed()
	}
	var step *reboot.Error
	if !errors.As(err, &step) {
		return err
	}
	refused := d.Diags.HasError()
	err = d.failure(step)
	if step.Step != reboot.StepResume || refused || d.Late == nil {
		return err
	}
	diagnostic.AddError(d.Late, d.What, err)
	return nil
}

// Keeps gives the restart that an apply has made with what it has drained for without one.
func (d Drain) Keeps(made attribute.Restart) attribute.Restart {
	if d.Applies() {
		made.Drains = *d.Shown
	}
	return made
}

// WarnOwed warns of a host that owes resume commands, in the plan of a destroy: it may be the last that looks there.
// id is the host's name, or begins with it.
func WarnOwed(ctx context.Context, r *session.Resource, id string, diags *diag.Diagnostics) {
	host, _, _ := strings.Cut(id, "/")
	if !r.Readable(types.StringValue(host)) {
		return
	}
	if _, _, snap, err := r.Look(ctx, host); err == nil {
		r.Planned.AddOwed(ctx, host, snap, diags)
	}
}

func (d Drain) addResumed() {
	d.Diags.AddWarning("Host "+d.Name+": the resume commands have run",
		"The host was drained, and the change failed after that. What the drain commands had stopped was given back.")
}

// failure is the error of a change that was drained for. What the resume commands left is told beside it.
func (d Drain) failure(step *reboot.Error) error {
	left := step.NotResumed("A resume command failed, or could not run, after the drain commands.")
	switch step.Step {
	case reboot.StepResume:
		switch {
		case d.Diags.HasError():
			left.What = "The change was not made. A resume command failed after the drain commands."
		case d.Late == nil:
			left.What = "The change was made. A resume command failed after it, so the create counts as failed: the state " +
				"does not have it, and the next apply takes it in."
		default:
			left.What = "The change was made. A resume command failed after it."
		}
		return left
	case reboot.StepReady:
		if left != nil {
			left.Check = "The error on the change says whether the host still undoes it by itself, and when. Wait for that " +
				"first.\n\n" + left.Check
			diagnostic.AddError(d.Diags, d.What, left)
		} else if step.Resumed {
			d.addResumed()
		}
		return step.Err
	}
	title, clause := step.DrainEnd()
	e := &explain.Failure{
		Heading: "Unable to " + d.What + ": " + title,
		What:    "On host " + d.Name + " " + clause + ", so the change was not begun.",
		Check:   "Mend what is named as the cause, and run apply again.",
		Facts:   []explain.Fact{{"Host", d.Name}}, Err: step.Err,
	}
	if step.Resumed {
		e.Means = "The resume commands have run."
	}
	if left != nil {
		e.Check = left.Check + "\n\n" + e.Check
		if left.Err != nil {
			e.Facts = append(e.Facts, explain.Fact{"Error of the resume command", left.Err.Error()})
		}
	}
	return e
}
