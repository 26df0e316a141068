package session

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// machineOf names a host for comparisons: two names of one machine give the same. A
// host that was not read yet is compared by its name, because no host is asked for this
// alone.
func (d *Data) machineOf(host string) string {
	h, _, err := d.Host(host)
	if err != nil {
		return host
	}
	snap := h.Peek()
	if snap == nil {
		return host
	}
	return d.Planned.Machine(host, snap)
}

// CheckName gives the finding on a host that goes by another name in this walk, once for each name.
func (d *Data) CheckName(host string) []finding.Finding {
	if first, ok := d.Planned.SecondName(host); ok {
		return []finding.Finding{clash.SecondName(host, first)}
	}
	return nil
}

// HostKey is the key of claims on a host. Look at it before.
func (d *Data) HostKey(host string) string { return d.machineOf(host) }

// CardKey is the key of claims on a card: all functions of a card have one flash.
// Look at its host before.
func (d *Data) CardKey(ref attribute.CardRef) string {
	return d.machineOf(ref.Host) + "/" + ref.PCI.Slot()
}

// FunctionKey is the key of claims on one PCI function of a card.
func (d *Data) FunctionKey(ref attribute.CardRef) string {
	return d.machineOf(ref.Host) + "/" + ref.PCI.String()
}

// NumberedPortKey is the key of claims on a port of a card, whatever its GUID is. Look at its
// host before.
func (d *Data) NumberedPortKey(ref attribute.CardRef, number int) string {
	return d.FunctionKey(ref) + "/" + strconv.Itoa(number)
}

// PortKey is the key of claims on a port, and on a P_Key child of it. Look at its
// host before.
func (d *Data) PortKey(ref attribute.PortRef) string {
	ref.Host = d.machineOf(ref.Host)
	return ref.String()
}

// ConfigValidators implements resource.ResourceWithConfigValidators. It counts
// the resources of a walk; while a configuration is only validated nothing is.
func (r *Resource) ConfigValidators(context.Context) []resource.ConfigValidator {
	if r.Data == nil || r.Kind == "" {
		return nil
	}
	return []resource.ConfigValidator{census{"Counts the resources of the configuration.", r}}
}

type census struct {
	attribute.Described
	*Resource
}

func (c census) ValidateResource(_ context.Context, req resource.ValidateConfigRequest,
	_ *resource.ValidateConfigResponse) {
	c.Planned.CountResource(c.Kind, req.Config.Raw)
}

// ClaimCard claims the card of a resource, whose id the configuration has in
// card_id. It reports whether the resource may be planned: not if another one of
// the kind has the card. what is verb and thing, "plan firmware of card".
func (r *Resource) ClaimCard(ctx context.Context, what string, id attribute.CardID, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) bool {
	ref, err := attribute.ParseCardRef(id.ValueString())
	if err != nil || id.IsUnknown() || !r.HostReady(types.StringValue(ref.Host)) {
		return true // it is claimed at apply, when it is known
	}
	if req.Config.Raw.IsFullyKnown() {
		if _, _, _, err := r.Look(ctx, ref.Host); err != nil {
			diagnostic.AddErrorAt(diags, path.Root("card_id"), what+" "+ref.String(), err)
			return false
		}
	}
	return r.Claim(ctx, what, planned.Claim{Key: r.CardKey(ref), Name: ref.String()}, req, diags)
}

// Claim is ClaimCard for anything; c needs Key and Name.
func (r *Resource) Claim(ctx context.Context, what string, c planned.Claim, req resource.ModifyPlanRequest,
	diags *diag.Diagnostics) bool {
	c.Kind, c.Config, c.Exists = r.Kind, req.Config.Raw, !req.State.Raw.IsNull()
	if c.HostIn != "" && !r.CanLeave(what+" "+c.Name, c.HostIn, req.State, hostOf(c.Name), diags) {
		return false
	}
	other, taken := r.Planned.Claim(c)
	if !taken {
		return r.leave(ctx, what, c, req.State, diags) && r.keep(ctx, what, c, req.State, diags)
	}
	differ := c.Differs(other)
	if c.Shared != "" && !slices.ContainsFunc(differ, func(d clash.Difference) bool { return d.Argument == c.Shared }) {
		return true // two resources that only adopt do no harm
	}
	refusal := clash.Twice(c.Kind, c.Name, other.Name, differ)
	return !diagnostic.AddFindings(ctx, diags, what+" "+c.Name, []finding.Finding{refusal})
}

// Drop notes that a plan destroys an object. It reports whether the plan may go on: not if
// it keeps another object of the state that is the same on the host.
func (r *Resource) Drop(ctx context.Context, what, key, name string, diags *diag.Diagnostics) bool {
	return r.Data == nil || !r.Planned.Goes(planned.Object{Kind: r.Kind, Key: key}) ||
		!diagnostic.AddFindings(ctx, diags, what+" "+name, []finding.Finding{clash.OneGoes(r.Kind, name)})
}

// leave is Drop for a plan that replaces the object of a state by another one. Core tells the
// provider of that destroy only when it is done.
func (r *Resource) leave(ctx context.Context, what string, c planned.Claim, state tfsdk.State,
	diags *diag.Diagnostics) bool {
	id := IDOf(state)
	host, object, _ := strings.Cut(id, "/")
	key := r.machineOf(host) + "/" + object
	return c.HostIn == "" || id == "" || key == c.Key || r.Drop(ctx, what, key, id, diags)
}

// keep is Drop for a plan that keeps the object of a state.
func (r *Resource) keep(ctx context.Context, what string, c planned.Claim, state tfsdk.State,
	diags *diag.Diagnostics) bool {
	if c.HostIn == "" || IDOf(state) != c.Name || !r.Planned.Stays(planned.Object{Kind: c.Kind, Key: c.Key}) {
		return true
	}
	return !diagnostic.AddFindings(ctx, diags, what+" "+c.Name, []finding.Finding{clash.OneGoes(c.Kind, c.Name)})
}

// IDOf is the id in a state; empty if there is none.
func IDOf(state tfsdk.State) string {
	var attrs map[string]tftypes.Value
	var id string
	if state.Raw.IsNull() || state.Raw.As(&attrs) != nil || attrs["id"].As(&id) != nil {
		return ""
	}
	return id
}

// WarnMade warns of the create of an object that this provider has set up before, if the
// create changes it. A plan shows no old values of what no state has.
func WarnMade(diags *diag.Diagnostics, thing, id string, differ []string) {
	if len(differ) == 0 {
		return
	}
	diags.AddWarning(thing+" "+id+": this apply changes what is there already",
		"Terraform has set it up: from another configuration, in an apply that failed, or as the object that this plan "+
			"replaces. What is there now:\n- "+strings.Join(differ, "\n- ")+"\n\nIf another configuration manages it, take "+
			"this block out: each of the two undoes the changes of the other one. To see in the plan what changes, import it "+
			"first, with the id "+id+".")
}

// Made notes that this walk has made or changed an object.
func (r *Resource) Made(key string) { r.Planned.Make(planned.Object{Kind: r.Kind, Key: key}) }

// Left reports whether a destroy leaves an object alone, because this walk has made it for
// another object of the state, and says so.
func (r *Resource) Left(what, key, name string, diags *diag.Diagnostics) bool {
	if !r.Planned.Made(planned.Object{Kind: r.Kind, Key: key}) {
		return false
	}
	diags.AddWarning("Not removed: "+what+" "+name,
		"This apply has configured it for another resource, which stays. The object that is destroyed leaves the state, and "+
			"nothing is removed from the host.")
	return true
}

func hostOf(id string) string {
	host, _, _ := strings.Cut(id, "/")
	return host
}
