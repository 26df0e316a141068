package activation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform/reboot"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/actions"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// NewRestartHost returns the action infiniband_restart_host.
var NewRestartHost = actions.New(actions.Kind[restarting]{
	Name: "infiniband_restart_host",
	Description: "Restarts a host once, as `infiniband_activation` does, also if nothing waits in its cards: after an " +
		"update of its kernel, for example. It waits for its turn, so that no burn of this apply runs on the host " +
		"meanwhile. The drain commands of the host run before the restart and its resume commands after it. `timeout` " +
		"in `reboot` of the host limits the restart.\n\n" +
		"All flashes of the host are verified in the plan and directly before the restart. Afterwards each card has to " +
		"be there with its driver, and to run the firmware, GUIDs, link types and settings that waited in it.\n\n" +
		"The plan refuses what it refuses of `infiniband_activation`: a host whose `reboot` does not allow it (HO007), " +
		"a job that writes to a card (HO004), a flash that may not start (FW063), connected clients of the host (HO013). " +
		"The action takes no consent: a host whose card carries its SSH session, default route or storage is restarted " +
		"by hand, and so is one without a card that loads its flash at a restart. The action may take 45 minutes.",
	Timeout:    standardTimeout,
	Attributes: map[string]schema.Attribute{"host": actions.Host("the cards")},
	On: func(m *restarting) actions.Target {
		return actions.Target{Host: m.Host.ValueString(), At: "host", What: m.what()}
	},
	Plan: func(ctx context.Context, d *session.Data, m *restarting, diags *diag.Diagnostics) {
		all, _ := m.cards(ctx, d, diags)
		if diags.HasError() {
			return
		}
		d.Planned.AddOwed(ctx, m.Host.ValueString(), all[0].Snap, diags)
		found, err := verdicts(ctx, d, all, nil, withoutConsent)
		diagnostic.AddErrorAt(diags, path.Root("host"), m.what(), err)
		diagnostic.AddPlanned(ctx, diags, m.what(), found)
	},
	Invoke: func(ctx context.Context, d *session.Data, m *restarting, tell func(string), diags *diag.Diagnostics) {
		defer d.RunLog.Warn(diags)
		host := m.Host.ValueString()
		_, _, snap, err := d.Look(ctx, host)
		if err == nil {
			err = d.Turns.Do(ctx, firstOf(host, snap), func() error {
				return d.WithHost(ctx, host, func(*hosts.Host) error { return m.restart(ctx, d, tell, diags) })
			})
		}
		diagnostic.AddError(diags, m.what(), err)
	},
})

type restarting struct {
	Host types.String `tfsdk:"host"`
}

func (m *restarting) what() string { return "restart host " + m.Host.ValueString() }

// cards are those that load their flash at the restart; none come only with an error.
func (m *restarting) cards(ctx context.Context, d *session.Data, diags *diag.Diagnostics) (all []*session.CardAt,
	policy reboot.Policy) {
	host := m.Host.ValueString()
	_, cfg, snap, err := d.Look(ctx, host)
	if err == nil {
		all = cardsOf(ctx, d, host, m.what(), snap, diags)
		err = refuseWhileWritten(m.what(), all)
	}
	if err == nil && len(all) == 0 && !diags.HasError() {
		err = &explain.Failure{What: "No card of the host loads its flash at a restart, so that nothing would show how " +
			"the restart ended. The host was not restarted.", Check: "Restart it by hand."}
	}
	diagnostic.AddErrorAt(diags, path.Root("host"), m.what(), err)
	return all, cfg.Reboot
}

// withoutConsent is a finding of an action, which has no argument to consent by.
func withoutConsent(one finding.Finding) (finding.Finding, bool) {
	if one.Asks() {
		one = one.At("host").WithConsent("").WithWayOut("This action takes no consent. Have the host not use the " +
			"card, or restart it by hand.")
	}
	return one, true
}

func (m *restarting) restart(ctx context.Context, d *session.Data, tell func(string), diags *diag.Diagnostics) error {
	all, policy := m.cards(ctx, d, diags)
	if diags.HasError() {
		return nil
	}
	for _, command := range policy.DrainCommands {
		tell("before the restart: " + command)
	}
	for _, at := range all {
		tell("host " + at.Ref.Host + " restarts, and card " + at.Ref.PCI.String() + " starts anew")
	}
	did, err := d.Cards.Restart(ctx, onHost(all))
	for _, text := range did {
		tell(text)
	}
	return err
}
