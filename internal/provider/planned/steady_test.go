package planned

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

type steadyModel struct {
	Asked    types.String `tfsdk:"asked"`
	Seen     types.Bool   `tfsdk:"seen"`
	Ports    types.List   `tfsdk:"ports"`
	Timeouts types.String `tfsdk:"timeouts"`
}

var steadySchema = schema.Schema{Attributes: map[string]schema.Attribute{
	"asked": attribute.ComputedString(""), "seen": attribute.ComputedBool(""), "ports": attribute.ComputedList(types.StringType,
		""),
	"timeouts": attribute.ComputedString(""),
}}

func steadyPlan(t *testing.T, m steadyModel) tfsdk.Plan {
	t.Helper()
	plan := tfsdk.Plan{Schema: steadySchema,
		Raw: tftypes.NewValue(steadySchema.Type().TerraformType(context.Background()), nil)}
	if d := plan.Set(context.Background(), &m); d.HasError() {
		t.Fatal(d)
	}
	return plan
}

// What is known in a plan is the same whether or not something is left to do on the
// host, so that core finds no difference when it plans again.
func TestSteady_knowsTheSameWhateverTheHostDoes(t *testing.T) {
	ctx := context.Background()
	state := steadyPlan(t, steadyModel{types.StringValue("old"), types.BoolValue(true),
		attribute.StringList([]string{"a"}), types.StringValue("1m")})
	wanted := steadyModel{types.StringValue("new"), types.BoolValue(false), attribute.StringList([]string{"b"}),
		types.StringValue("2m")}
	for name, c := range map[string]struct {
		steady Steady
		asked  string
		seen   types.Bool
	}{
		"held":                  {Steady{Held: true}, "old", types.BoolValue(true)},
		"held, kept for later":  {Steady{Held: true, Kept: []string{"asked"}}, "new", types.BoolValue(true)},
		"held, something to do": {Steady{Held: true, ToDo: true}, "old", types.BoolUnknown()},
		"not held":              {Steady{ToDo: true}, "new", types.BoolUnknown()},
		"not held, done by now": {Steady{}, "new", types.BoolUnknown()},
	} {
		c.steady.Live = []string{"seen"}
		req := resource.ModifyPlanRequest{State: tfsdk.State(state)}
		resp := resource.ModifyPlanResponse{Plan: steadyPlan(t, wanted)}
		c.steady.Plan(ctx, req, &resp, &wanted)
		var got steadyModel
		if d := resp.Plan.Get(ctx, &got); d.HasError() || resp.Diagnostics.HasError() || got.Asked.ValueString() != c.asked ||
			!got.Seen.Equal(c.seen) || !got.Timeouts.Equal(wanted.Timeouts) {
			t.Errorf("%s: got %+v, %v, %v", name, got, d, resp.Diagnostics)
		}
	}
}

func TestOnlyStores_whatTheHostHasNoPartIn(t *testing.T) {
	t.Parallel()
	timed := func(asked string, seen bool, times string) steadyModel {
		return steadyModel{types.StringValue(asked), types.BoolValue(seen), attribute.StringList([]string{"a"}),
			types.StringValue(times)}
	}
	model := func(asked string, seen bool) steadyModel { return timed(asked, seen, "1m") }
	state := steadyPlan(t, model("old", true))
	for _, c := range []struct {
		plan steadyModel
		want bool
	}{{model("new", true), true}, {timed("old", true, "2m"), true}, {timed("old", false, "2m"), false},
		{model("old", true), false}, {model("new", false), false}, {model("old", false), false}} {
		req := resource.UpdateRequest{Plan: steadyPlan(t, c.plan), State: tfsdk.State(state)}
		if got := OnlyStores(req, []string{"asked"}); got != c.want {
			t.Errorf("%+v: got %t", c.plan, got)
		}
	}
}

func TestConfirm_namesWhatIsNotAsPlanned(t *testing.T) {
	ctx := context.Background()
	plan := steadyPlan(t, steadyModel{types.StringValue("new"), types.BoolUnknown(), types.ListUnknown(types.StringType),
		types.StringNull()})
	before := tfsdk.State{Schema: steadySchema, Raw: tftypes.NewValue(plan.Raw.Type(), nil)}
	wrong := []string{`asked: planned "new", found "other"`}
	for _, c := range []struct {
		asked  string
		before tfsdk.State
		lines  []string
		says   string
	}{{"new", before, nil, ""}, {"other", before, wrong, "The state does not have it, because the create failed."},
		{"other", tfsdk.State(plan), wrong, "The state keeps its old values."}} {
		before := c.before
		to, found := before, steadyModel{types.StringValue(c.asked), types.BoolValue(true),
			attribute.StringList([]string{"a"}), types.StringNull()}
		var diags diag.Diagnostics
		Confirm(ctx, "set it", plan, &to, &found, &diags)
		if diags.HasError() != (c.lines != nil) || diags.HasError() && (!to.Raw.Equal(before.Raw) ||
			!strings.Contains(diags[0].Detail(), c.says)) {
			t.Errorf("%s: stored %v, %v", c.asked, to.Raw, diags)
		}
		now := steadyPlan(t, found)
		if lines, err := contradictions(plan.Raw, now.Raw); err != nil || !slices.Equal(lines, c.lines) {
			t.Errorf("%s: got %q, %v", c.asked, lines, err)
		}
	}
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	list := tftypes.NewValue(tftypes.List{ElementType: tftypes.Number}, []tftypes.Value{tftypes.NewValue(tftypes.Number, 65520)})
	if got := plainText(list); got != "[65520]" {
		t.Errorf("a list of one number is %s", got)
	}
}
