package activation

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

const standardTimeout = 45 * time.Minute

type model struct {
	ID         types.String   `tfsdk:"id"`
	Host       types.String   `tfsdk:"host"`
	Activation types.String   `tfsdk:"activation"`
	Allow      types.Object   `tfsdk:"allow"`
	Timeouts   timeouts.Value `tfsdk:"timeouts"`
	attribute.Restart

	Way     types.String `tfsdk:"way"`
	Change  types.String `tfsdk:"change"`
	Running types.Map    `tfsdk:"running"`
}

// least is the activation that resets cards where that does, and restarts the host only where it does not.
const least = "least"

// resets reports whether the plan resets cards and restarts nothing.
func (m *model) resets() bool { return strings.HasPrefix(m.Way.ValueString(), wayReset) }

// The ways begin with these.
const (
	wayReset   = "reset by mstfwreset (level 3): "
	wayRestart = "restart of the host: "
)

// consent names the interfaces that may go down.
func (m *model) consent() []string {
	return attribute.ConsentsOf(m.Allow).Names(attribute.ManagementPath)
}

// looks are those at the cards of a host that load their flash at its restart.
func looks(s *inventory.Snapshot) (all []*cards.Look) {
	for i := range s.Cards {
		if l, err := cards.LookAt(s, s.Cards[i].PCI); err == nil && safety.LoadsAtRestart(l.Card) {
			all = append(all, l)
		}
	}
	return all
}

// changeText names what waits by card; empty if nothing does.
func changeText(all []*session.CardAt, waits func(*session.CardAt) []string) string {
	var texts []string
	for _, at := range all {
		if what := waits(at); len(what) > 0 {
			texts = append(texts, "activates "+strings.Join(inOrder(what), ", ")+" of "+at.Ref.PCI.String())
		}
	}
	return strings.Join(texts, "; ")
}

// inOrder sorts what waits, whoever has noted it first.
func inOrder(what []string) []string {
	order := []string{hca.WaitsFirmware, hca.WaitsGUIDs, hca.WaitsLinkTypes, hca.WaitsSettings}
	slices.SortFunc(what, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	return slices.Compact(what)
}

var runningType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"psid": types.StringType, "version": types.StringType,
}}

// runningOf is what the cards of a host run, as far as that is known.
func runningOf(s *inventory.Snapshot) types.Map {
	all := map[string]attr.Value{}
	for _, l := range looks(s) {
		if running, known := l.Facts.Running.Get(); known && running.PSID != "" {
			all[l.Card.PCI.String()] = types.ObjectValueMust(runningType.AttrTypes, map[string]attr.Value{
				"psid": types.StringValue(running.PSID.String()), "version": types.StringValue(running.FW.String())})
		}
	}
	return types.MapValueMust(runningType, all)
}
