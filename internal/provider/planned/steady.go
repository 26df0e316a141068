package planned

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// Models gives the models of a plan. state is the zero model for a new object.
func Models[M any](ctx context.Context, req resource.ModifyPlanRequest, diags *diag.Diagnostics) (plan, config, state M,
	exists bool) {
	diags.Append(req.Plan.Get(ctx, &plan)...)
	diags.Append(req.Config.Get(ctx, &config)...)
	exists = !req.State.Raw.IsNull()
	if exists {
		diags.Append(req.State.Get(ctx, &state)...)
	}
	return plan, config, state, exists
}

// Steady makes a plan that a change of the host cannot contradict.
//
// Core plans twice from one state and one configuration: for the operator, and in a new
// process just before the change. If a known value of the first plan differs in the
// second, core stops and says "This is a bug in the provider". This happens also if
// nothing is left to do by then and the plan has become the state. So known values must
// follow from configuration and state alone, and what the host decides is unknown as
// soon as anything is to be done.
type Steady struct {
	// Held says that the state has what the configuration asks for. It must follow
	// from these two alone.
	Held bool
	// ToDo says that something is to be done on the host as it is now. The plan before the
	// change also counts what the last refresh has noted, see NoteToDo.
	ToDo bool
	// Live are the attributes that the host decides.
	Live []string
	// Foreseen says that the model of a change has in Live what the plan knows of it: only what is unknown there is
	// open.
	Foreseen bool
	// Kept are the arguments that a destroy needs from the state: the state takes them
	// over whatever else it holds. Timeouts are always kept.
	Kept []string
}

// Plan makes the plan. wanted is the model of a change; its known values outside Live
// must follow from configuration and state alone. A state that holds what is asked for
// is kept, whatever else the configuration changes; Terraform permits that.
func (s Steady) Plan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
	wanted any) {
	given, toDo := resp.Plan.Raw, !s.Held || s.ToDo || notedToDo(ctx, req.Private, &resp.Diagnostics)
	if toDo {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, wanted)...)
	}
	if s.Held {
		names := append(slices.Clip(s.Kept), attribute.TimeoutsName)
		if s.Foreseen && toDo {
			names, given = append(names, s.Live...), resp.Plan.Raw
		}
		held, err := withThose(names, given, req.State.Raw)
		if err != nil {
			diagnostic.AddError(&resp.Diagnostics, "plan what a destroy will need", err)
			return
		}
		if resp.Plan.Raw = held; !toDo {
			return
		}
	}
	if s.Foreseen {
		return
	}
	open, err := unknownAt(resp.Plan.Raw, s.Live)
	if err != nil {
		diagnostic.AddError(&resp.Diagnostics, "plan what the host decides", err)
		return
	}
	resp.Plan.Raw = open
}

// toDoKey is where NoteToDo keeps its note.
const toDoKey = "to_do"

// Beside is where a provider keeps what no plan shows, beside the state of an object.
type Beside interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

type kept interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// NoteToDo keeps beside the state whether its refresh found something to be done for what
// that state holds. Core plans again just before the change. Something else may have done it
// by then, such as the change of a link type in the same apply. A plan that is the state
// makes core skip the update that it has announced, and nothing is read back: the state keeps
// what the refresh saw. With the note both plans are the same.
//
// Note no more than a plan of that state finds, or the plan is never empty.
func NoteToDo(ctx context.Context, at Beside, toDo bool, diags *diag.Diagnostics) {
	keep(ctx, at, toDoKey, toDo, diags)
}

// notedToDo reports what the last refresh or change has noted. There is no note beside a state
// of an earlier version.
func notedToDo(ctx context.Context, at kept, diags *diag.Diagnostics) bool {
	return isKept(ctx, at, toDoKey, diags)
}

// unprovenKey is where NoteUnproven keeps its note.
const unprovenKey = "unproven"

// NoteUnproven keeps beside the state whether a change has written all of it and then failed,
// because what was written did not work. A refresh finds nothing to be done then. With the note
// the next apply tries the proof again.
func NoteUnproven(ctx context.Context, at Beside, unproven bool, diags *diag.Diagnostics) {
	keep(ctx, at, unprovenKey, unproven, diags)
}

// Unproven reports what NoteUnproven has noted last.
func Unproven(ctx context.Context, at kept, diags *diag.Diagnostics) bool {
	return isKept(ctx, at, unprovenKey, diags)
}

// destroyKey is where NoteDestroy keeps its note.
const destroyKey = "destroy"

// NoteDestroy keeps beside the state that the plan of a walk destroys the object; an empty name takes that back.
func NoteDestroy(ctx context.Context, at Beside, walk string, diags *diag.Diagnostics) {
	diags.Append(at.SetKey(ctx, destroyKey, []byte(strconv.Quote(walk)))...)
}

// DestroyAnnounced reports whether the plan that the operator saw destroys the object. In a replace there is no note:
// the delete gets what the plan of the new object has left. One of this walk does not count: core plans a destroy also
// just before it is done, after a create_before_destroy (Terraform 1.11, OpenTofu 1.12).
func DestroyAnnounced(ctx context.Context, at kept, walk string) bool {
	note, _ := at.GetKey(ctx, destroyKey)
	by, err := strconv.Unquote(string(note))
	return err == nil && by != "" && by != walk
}

// keep writes a note that isKept reads. The private state of the framework takes JSON only.
func keep(ctx context.Context, at Beside, key string, note bool, diags *diag.Diagnostics) {
	diags.Append(at.SetKey(ctx, key, []byte(strconv.FormatBool(note)))...)
}

func isKept(ctx context.Context, at kept, key string, diags *diag.Diagnostics) bool {
	note, read := at.GetKey(ctx, key)
	diags.Append(read...)
	return string(note) == strconv.FormatBool(true)
}

// withThose gives an object with some attributes of another one.
func withThose(names []string, from, object tftypes.Value) (tftypes.Value, error) {
	var given map[string]tftypes.Value
	if err := from.As(&given); err != nil {
		return object, fmt.Errorf("read the plan: %w", err)
	}
	return tftypes.Transform(object, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if name, ok := rootName(at); ok && slices.Contains(names, name) {
			return given[name], nil
		}
		return v, nil
	})
}

// unknownAt gives an object with some of its attributes unknown.
func unknownAt(object tftypes.Value, names []string) (tftypes.Value, error) {
	return tftypes.Transform(object, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if name, ok := rootName(at); ok && slices.Contains(names, name) {
			return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
		}
		return v, nil
	})
}

// rootName gives the name of an attribute of the object itself.
func rootName(at *tftypes.AttributePath) (string, bool) {
	if len(at.Steps()) != 1 {
		return "", false
	}
	name, ok := at.Steps()[0].(tftypes.AttributeName)
	return string(name), ok
}

// OnlyStores reports whether an update changes only timeouts, attributes that are kept
// for a later destroy, or the place of the object. The host has no part in these.
func OnlyStores(req resource.UpdateRequest, names ...[]string) bool {
	diffs, err := req.Plan.Raw.Diff(req.State.Raw)
	if err != nil {
		return false
	}
	kept := append(slices.Concat(names...), attribute.TimeoutsName)
	for _, d := range diffs {
		steps := d.Path.Steps()
		if len(steps) == 0 {
			continue // the object as a whole
		}
		name, ok := steps[0].(tftypes.AttributeName)
		if !ok || !slices.Contains(kept, string(name)) {
			return false
		}
	}
	return len(diffs) > 0
}

// Confirm stores what was read back after a change. If that is not what was planned,
// because somebody changed the host at the same time, it says so in plain words and
// stores nothing: the next plan shows what is there.
func Confirm(ctx context.Context, what string, plan tfsdk.Plan, to *tfsdk.State, found any, diags *diag.Diagnostics) {
	state := tfsdk.State(plan)
	if diags.Append(state.Set(ctx, found)...); diags.HasError() {
		return
	}
	lines, err := contradictions(plan.Raw, state.Raw)
	switch {
	case err != nil:
		diagnostic.AddError(diags, what, err)
	case len(lines) > 0:
		diags.AddError("Unable to "+what+": the host shows something else afterwards",
			"The change was made as planned, but the values that were read back differ from the plan. "+
				"Somebody else changed the card or the host at the same time, or another setting of the host overrides this one. "+
				whatStays(ctx, state, to.Raw.IsNull())+"\n\n"+strings.Join(lines, "\n"))
	default:
		to.Raw = state.Raw
	}
}

// whatStays says what the state has after a change that is not confirmed. A failed create
// stores nothing, so that nothing is destroyed and made anew.
func whatStays(ctx context.Context, found tfsdk.State, created bool) string {
	if !created {
		return "The state keeps its old values.\n\nPlan again and read the new plan."
	}
	var id types.String
	_ = found.GetAttribute(ctx, path.Root("id"), &id) // every object has one
	return fmt.Sprintf("What was made stays on the host. The state does not have it, because the create failed.\n\n"+
		"Find what makes the difference, and apply again. To take it into the state as it is, run: terraform import "+
		"ADDRESS %q.", id.ValueString())
}

// Foresee gives a plan in which some attributes are unknown, for a model that fills in what is known of them.
func Foresee(plan tfsdk.Plan, live []string, diags *diag.Diagnostics) tfsdk.Plan {
	if plan.Raw.IsNull() {
		return plan
	}
	open, err := unknownAt(plan.Raw, live)
	if err != nil {
		diagnostic.AddError(diags, "plan what the host decides", err)
		return plan
	}
	plan.Raw = open
	return plan
}

// KeepForeseen gives live attributes of what was read back the values that were planned: an engine takes no others.
// What moves by itself may be another one already; a warning says so, and the next plan shows it.
func KeepForeseen(ctx context.Context, title string, plan tfsdk.Plan, live []string, found any,
	diags *diag.Diagnostics) {
	state := tfsdk.State(plan)
	if diags.Append(state.Set(ctx, found)...); diags.HasError() {
		return
	}
	var keep, lines []string
	for _, name := range live {
		at := tftypes.AttributeName(name)
		was, is := valueAt(plan.Raw, at), valueAt(state.Raw, at)
		if was.IsFullyKnown() && !was.Equal(is) {
			keep = append(keep, name)
			lines = append(lines, fmt.Sprintf("%s: planned %s, found %s", name, plainText(was), plainText(is)))
		}
	}
	if len(keep) == 0 {
		return
	}
	diags.AddWarning(title+": the host shows something else already", "The change was made. The state has what was "+
		"planned, and the next plan shows what the host has then.\n\n"+strings.Join(lines, "\n"))
	kept, err := withThose(keep, plan.Raw, state.Raw)
	if err != nil {
		diagnostic.AddError(diags, "keep what was planned", err)
		return
	}
	state.Raw = kept
	diags.Append(state.Get(ctx, found)...)
}

// contradictions names the values that were known in a plan and are others now.
func contradictions(planned, found tftypes.Value) ([]string, error) {
	diffs, err := planned.Diff(found)
	if err != nil {
		return nil, fmt.Errorf("compare the plan with what was read back: %w", err)
	}
	seen := map[string]bool{}
	var lines []string
	for _, d := range diffs {
		steps := d.Path.Steps()
		if len(steps) == 0 || d.Value1 != nil && !d.Value1.IsFullyKnown() || openAbove(planned, d.Path) {
			continue
		}
		name, ok := steps[0].(tftypes.AttributeName)
		if !ok || seen[string(name)] {
			continue
		}
		seen[string(name)] = true
		lines = append(lines, fmt.Sprintf("%s: planned %s, found %s", name, valueText(planned, name), valueText(found, name)))
	}
	return lines, nil
}

// openAbove reports whether a value that holds the one at a path is unknown.
func openAbove(object tftypes.Value, at *tftypes.AttributePath) bool {
	for path := at.WithoutLastStep(); path != nil && len(path.Steps()) > 0; path = path.WithoutLastStep() {
		v, _, err := tftypes.WalkAttributePath(object, path)
		if value, ok := v.(tftypes.Value); err == nil && ok && !value.IsKnown() {
			return true
		}
	}
	return false
}

func valueText(object tftypes.Value, name tftypes.AttributeName) string {
	return plainText(valueAt(object, name))
}

// valueAt gives an attribute of the object itself; null if it has none of the name.
func valueAt(object tftypes.Value, name tftypes.AttributeName) tftypes.Value {
	v, _, err := tftypes.WalkAttributePath(object, tftypes.NewAttributePath().WithAttributeName(string(name)))
	value, ok := v.(tftypes.Value)
	if err != nil || !ok {
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	}
	return value
}

// plainText writes a value as an operator would.
func plainText(v tftypes.Value) string {
	var (
		text  string
		truth bool
		count *big.Float
		list  []tftypes.Value
		named map[string]tftypes.Value
	)
	switch {
	case v.IsNull():
		return "null"
	case !v.IsKnown():
		return "(known after apply)"
	case v.As(&text) == nil:
		return fmt.Sprintf("%q", text)
	case v.As(&truth) == nil:
		return strconv.FormatBool(truth)
	case v.As(&count) == nil:
		return count.String()
	case v.As(&list) == nil:
		all := make([]string, len(list))
		for i := range list {
			all[i] = plainText(list[i])
		}
		return "[" + strings.Join(all, ", ") + "]"
	case v.As(&named) == nil:
		var all []string
		for key, e := range named {
			all = append(all, key+" = "+plainText(e))
		}
		slices.Sort(all)
		return "{ " + strings.Join(all, ", ") + " }"
	}
	return v.String()
}
