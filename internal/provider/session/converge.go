package session

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// Change is what a create and an update have in common: both make the host what the plan
// says, whatever it is.
type Change struct {
	Op     attribute.Operation
	plan   tfsdk.Plan
	config tfsdk.Config
	state  *tfsdk.State
	Diags  *diag.Diagnostics
	beside Beside
	// Late are errors after a change that was made: the state has it all the same. Nil for a create: with an error the
	// engine would destroy the object, to make it anew.
	Late *diag.Diagnostics
}

// Kept is what a provider has kept beside the state of an object, where no plan shows it.
type Kept interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// Beside is where it keeps that.
type Beside interface {
	Kept
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// seenKey is what the last look at the host found of what a change overwrites. A plan rests
// on that look, and a saved plan has it.
const seenKey = "seen"

// NoteSeen keeps what was found beside the state.
func NoteSeen(ctx context.Context, at Beside, found any, diags *diag.Diagnostics) {
	text, err := json.Marshal(found)
	if err != nil {
		diags.AddError("Unable to keep what was read of the host", err.Error())
		return
	}
	diags.Append(at.SetKey(ctx, seenKey, text)...)
}

// Beside is where the change keeps what no plan shows.
func (c Change) Beside() Beside { return c.beside }

// NoteSeen keeps what the change has read back.
func (c Change) NoteSeen(ctx context.Context, found any) { NoteSeen(ctx, c.beside, found, c.Diags) }

// Seen fills in what the host had when the plan was made; false for a new object, of which
// nothing was read before.
func (c Change) Seen(ctx context.Context, into any) bool { return Seen(ctx, c.beside, into, c.Diags) }

// Seen fills in what was found at the last look, which the plan of a destroy has as well;
// false if nothing was read before.
func Seen(ctx context.Context, at Kept, into any, diags *diag.Diagnostics) bool {
	text, read := at.GetKey(ctx, seenKey)
	diags.Append(read...)
	return len(text) > 0 && json.Unmarshal(text, into) == nil
}

// CreateWith makes a change of a create, and stores the identity of what is in the state
// then.
func (r *Importable) CreateWith(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse,
	apply func(context.Context, Change)) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	apply(ctx, Change{attribute.Create, req.Plan, req.Config, &resp.State, &resp.Diagnostics, resp.Private, nil})
}

// UpdateWith makes a change of an update. If nothing differs but timeouts and the kept
// attributes, which the host has no part in, it only stores them.
func (r *Importable) UpdateWith(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse,
	apply func(context.Context, Change), kept ...[]string) {
	defer r.Identify(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
	if planned.OnlyStores(req, kept...) {
		resp.State.Raw = req.Plan.Raw
		return
	}
	var late diag.Diagnostics
	apply(ctx, Change{attribute.Update, req.Plan, req.Config, &resp.State, &resp.Diagnostics, resp.Private, &late})
	resp.Diagnostics.Append(late...)
}

// Plan is what was planned.
func (c Change) Plan() tfsdk.Plan { return c.plan }

// Read fills a model from the plan. The configuration, which alone has the write-only
// arguments, fills another one, unless that is nil.
func (c Change) Read(ctx context.Context, plan, config any) {
	c.Diags.Append(c.plan.Get(ctx, plan)...)
	if config != nil {
		c.Diags.Append(c.config.Get(ctx, config)...)
	}
}

// Before fills a model from the state that the change begins with; false for a new object.
func (c Change) Before(ctx context.Context, state any) bool {
	if c.state.Raw.IsNull() {
		return false
	}
	diags := c.state.Get(ctx, state)
	c.Diags.Append(diags...)
	return !diags.HasError()
}

// Unproven notes whether what the change has written does not work yet, see
// planned.NoteUnproven.
func (c Change) Unproven(ctx context.Context, unproven bool) {
	planned.NoteUnproven(ctx, c.beside, unproven, c.Diags)
}

// Leaves is the error of a change whose object stays on the host. A failed create stores no
// state, so that nothing is destroyed and made anew: then the error says how what stays is
// removed. rests is what stays, at the begin of a sentence.
func (c Change) Leaves(err error, rests, id string) error {
	if err == nil || !c.state.Raw.IsNull() {
		return err
	}
	return &explain.Failure{Err: err,
		Means: rests + " stays on the host. The state does not have it, because the create failed.",
		Check: fmt.Sprintf("Mend the cause and apply again. To remove it instead, keep its block and run: terraform import "+
			"ADDRESS %q. Then take the block out and apply.", id)}
}

// Store makes the model the state, whatever was planned.
func (c Change) Store(ctx context.Context, found any) {
	planned.NoteToDo(ctx, c.beside, false, c.Diags)
	c.Diags.Append(c.state.Set(ctx, found)...)
}

// Confirm makes the model the state if it is what was planned; see planned.Confirm.
func (c Change) Confirm(ctx context.Context, what string, found any) {
	planned.NoteToDo(ctx, c.beside, false, c.Diags)
	planned.Confirm(ctx, what, c.plan, c.state, found, c.Diags)
}

// OnlyRead is the finding on a change of a host in observe mode; none of any other host. Call it only if there is
// something to change; differs says what, as far as that is known.
func (d *Data) OnlyRead(host string, differs ...string) []finding.Finding {
	if d == nil || !d.Hosts[host].Observe {
		return nil
	}
	return []finding.Finding{hostcheck.OnlyRead(host, differs...)}
}
