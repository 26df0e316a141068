package opensm

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/actions"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// NewFailOver returns the action infiniband_fail_over_subnet_manager.
var NewFailOver = actions.New(actions.Kind[failOver]{
	Name: "infiniband_fail_over_subnet_manager",
	Description: "Proves that the standby of a fabric takes over. It stops the subnet manager of the master, waits " +
		"until the standby is the master, and starts the former master again. The priorities decide who rules then: the " +
		"former master gets the fabric back if its priority is the higher one, else it stands by. All ports have to keep " +
		"their LIDs.\n\n" +
		"With the standard options of opensm the standby notices after up to 60 seconds; `sminfo_polling_timeout` and " +
		"`polling_retry_number` of `infiniband_opensm` shorten that. Traffic goes on meanwhile, but nothing new joins the " +
		"fabric: run it before maintenance, not in the middle of a job.\n\n" +
		"The plan refuses it unless the fabric lists a standby and the named subnet manager is the master in a unit " +
		"`opensm@GUID.service` that can be started again. The host needs infiniband-diags. If no standby takes over or LIDs have changed, the former " +
		"master is started all the same and the action fails. If the provider is killed or loses the host in between, the " +
		"standby rules and the unit stays stopped until the next boot or apply of its `infiniband_opensm`. The action may " +
		"take 10 minutes.",
	Timeout: standardTimeout,
	Attributes: map[string]schema.Attribute{
		"host": actions.Host("the master"),
		"port_guid": schema.StringAttribute{Required: true, CustomType: attribute.GUIDType{},
			MarkdownDescription: "GUID of the port that the master serves, as in its `infiniband_opensm`."},
	},
	On: func(m *failOver) actions.Target {
		return actions.Target{Host: m.Host.ValueString(), At: "host", What: m.what()}
	},
	Plan: func(ctx context.Context, d *session.Data, m *failOver, diags *diag.Diagnostics) {
		h, _, snap, err := d.Look(ctx, m.Host.ValueString())
		if err == nil {
			_, _, err = change.CheckFailOver(ctx, h, found.Of(snap, m.ref().GUID))
		}
		diagnostic.AddError(diags, m.what(), err)
	},
	Invoke: func(ctx context.Context, d *session.Data, m *failOver, tell func(string), diags *diag.Diagnostics) {
		var r change.Result
		err := d.Turns.SMs.Do(ctx, m.ref(), session.SMMaster, func() error {
			return d.WithHost(ctx, m.ref().Host, func(h *hosts.Host) error {
				snap, err := h.Snapshot(ctx)
				if err == nil {
					r, err = change.FailOver(ctx, h, found.Of(snap, m.ref().GUID), change.Options{}, tell)
				}
				return err
			})
		})
		d.Set.ForgetOlder() // the hosts show another subnet manager now
		diagnostic.AddNotes(diags, "Subnet manager "+m.ref().String(), r.Warnings)
		diagnostic.AddError(diags, m.what(), err)
	},
})

type failOver struct {
	Host     types.String   `tfsdk:"host"`
	PortGUID attribute.GUID `tfsdk:"port_guid"`
}

// ref is the port; the type of the attribute has checked its GUID.
func (m *failOver) ref() attribute.PortRef {
	guid, _ := ib.ParseGUID(m.PortGUID.ValueString())
	return attribute.PortRef{Host: m.Host.ValueString(), GUID: guid}
}

func (m *failOver) what() string { return "fail over subnet manager " + m.ref().String() }
