package fabric

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/actions"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// NewClearCounters returns the action infiniband_clear_counters.
var NewClearCounters = actions.New(actions.Kind[clearing]{
	Name: "infiniband_clear_counters",
	Description: "Sets the error counters of ports of a fabric to zero, by `perfquery` from one host, and shows as progress " +
		"what each of them had counted. Use it after a cable was mended, and where a counter stands at its maximum, so " +
		"that nobody sees whether it grows. Counters of data and packets stay, and so does a counter that is zero.\n\n" +
		"A later look at `infiniband_fabric` takes a counter below its earlier value for a cleared one: all that it has " +
		"counted since is growth. Other programs that read the counters see the reset as well. Ports of hosts in mode " +
		"observe are left out.\n\n" +
		"The host needs infiniband-diags and a link, and the fabric a subnet manager; else the plan refuses it. " +
		"A port that does not take the command fails the action. It may take 10 minutes.",
	Timeout: 10 * time.Minute,
	Attributes: map[string]schema.Attribute{
		"host": actions.Host("the fabric"),
		"port_guid": schema.StringAttribute{Optional: true, CustomType: attribute.GUIDType{},
			MarkdownDescription: "GUID of the host's port to ask through, where its ports are on different fabrics. If left " +
				"out, the first InfiniBand port with a link asks."},
		"ports": schema.SetAttribute{Optional: true, ElementType: types.StringType,
			Validators: []validator.Set{setvalidator.SizeAtLeast(1)},
			MarkdownDescription: "Ports to clear, as `expected_links` of `infiniband_fabric` names ends: `switch1/3`, or " +
				"`switch1` for all of its ports. If left out, all ports of the fabric are cleared."},
	},
	On: func(m *clearing) actions.Target {
		return actions.Target{Host: m.Host.ValueString(), At: "host", What: m.what()}
	},
	Plan: func(ctx context.Context, d *session.Data, m *clearing, diags *diag.Diagnostics) {
		_, err := m.counting(ctx, d, func(string) {})
		diagnostic.AddError(diags, m.what(), err)
	},
	Invoke: func(ctx context.Context, d *session.Data, m *clearing, tell func(string), diags *diag.Diagnostics) {
		diagnostic.AddError(diags, m.what(), d.WithHost(ctx, m.Host.ValueString(), func(h *hosts.Host) error {
			return m.clear(ctx, d, h, tell, diags)
		}))
	},
})

type clearing struct {
	Host     types.String   `tfsdk:"host"`
	PortGUID attribute.GUID `tfsdk:"port_guid"`
	Ports    types.Set      `tfsdk:"ports"`
}

func (m *clearing) what() string {
	return "clear error counters of the fabric of host " + m.Host.ValueString()
}

// counting are the ports that are to be cleared, with what they have counted.
func (m *clearing) counting(ctx context.Context, d *session.Data, tell func(string)) ([]*fabric.Port, error) {
	found, _, _, err := look(ctx, d, m.Host.ValueString(), guidOf(m.PortGUID), false, d.HostNames())
	if err == nil {
		err = complete(found, "No counter was cleared")
	}
	if err != nil {
		return nil, err
	}
	all, err := found.Counting(attribute.Texts(m.Ports))
	return slices.DeleteFunc(all, func(p *fabric.Port) bool {
		observed := d.Hosts[p.Node.Host].Observe
		if observed {
			tell(fmt.Sprintf("left %s: host %s is in mode observe", p.Label(), p.Node.Host))
		}
		return observed
	}), err
}

// clear clears the ports, and warns of those that stand where they stood.
func (m *clearing) clear(ctx context.Context, d *session.Data, h *hosts.Host, tell func(string),
	diags *diag.Diagnostics) error {
	ports, err := m.counting(ctx, d, tell)
	if err != nil {
		return err
	}
	if len(ports) == 0 {
		tell("no error counter is above zero")
		return nil
	}
	snap, err := h.Snapshot(ctx)
	if err != nil {
		return err
	}
	through, err := fabric.Pick(snap, guidOf(m.PortGUID))
	if err != nil {
		return err
	}
	for _, p := range ports {
		tell(fmt.Sprintf("clearing %s (%s): %s", p.Label(), p.ID(), p.Describe()))
	}
	failed, err := fabric.Clear(ctx, h, through, ports)
	if err != nil {
		return err
	}
	now, err := m.counting(ctx, d, func(string) {})
	if err != nil {
		return err
	}
	diagnostic.AddNotes(diags, "Error counters that stand where they stood", standing(ports, now))
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d ports did not take the command:\n%s", len(failed), len(ports), strings.Join(failed, "\n"))
	}
	tell(fmt.Sprintf("ports cleared: %d", len(ports)))
	return nil
}

// standing are the ports that have counted now what they had counted before.
func standing(before, now []*fabric.Port) (stand []string) {
	for _, p := range before {
		if slices.ContainsFunc(now, func(q *fabric.Port) bool { return q.ID() == p.ID() && q.Describe() == p.Describe() }) {
			stand = append(stand, fmt.Sprintf("%s: %s. The port ignores the command, or errors come that fast.", p.Label(),
				p.Describe()))
		}
	}
	return stand
}
