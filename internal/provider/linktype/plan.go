package linktype

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/hca/linktype"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	smfound "github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Keeps reports whether only the silence of mstconfig, or a driver that is not there, stands between
// the card and a state that holds: then, as far as is known, nothing is to be written.
func (o object) Keeps(s *step) bool {
	keeps := keeps(s)
	if keeps && s.Found.Unanswered != "" {
		warnUnanswered(s.Diags, s.At.Ref, s.Found.State)
	}
	return keeps
}

// Plan fills what follows from configuration and state, and what is known of the change.
func (o object) Plan(ctx context.Context, s *step) (live []string, ok bool) {
	if o.noteTypes(s); o.refuseUsers(ctx, s) {
		return nil, false
	}
	if s.Found.InHost() {
		diagnostic.AddFindings(ctx, s.Diags, "set link types of card "+s.At.Ref.String(),
			platform.CheckLasting(s.At.Snap, "/etc/modprobe.d"))
	}
	s.Plan.ID = types.StringValue(s.At.Ref.String())
	o.foresee(s)
	live = []string{"stored_in", "effective", "next_boot", "by_place", "reboot_required"}
	if s.Held { // the state does not ask for the update
		live = append(live, "change", "restarts", "drains")
	}
	return live, true
}

// noteTypes tells the resources that are planned after this one.
func (o object) noteTypes(s *step) {
	o.Planned.UpdateCard(s.At.Ref, func(c *planned.Card) {
		if waits(s) {
			c.AtRestart = s.Ask.Request.Ports
		} else if s.Verdict.Action != safety.ActionNone {
			c.LinkTypes = s.Ask.Request.Ports
		}
	})
	if waits(s) {
		o.Await(s.At.Ref, s.Verdict, hca.WaitsLinkTypes)
	}
}

// refuseUsers refuses a port that becomes Ethernet under a resource that was planned before. One
// that is planned after finds this itself: core plans in any order what does not depend on each
// other, as resources do that name a port by a literal.
func (o object) refuseUsers(ctx context.Context, s *step) (refused bool) {
	if waits(s) {
		return false
	}
	for _, port := range s.At.Card.Ports {
		becomes := s.Ask.Request.Ports[port.Number] == ib.LinkTypeETH &&
			s.Found.Ports[port.Number].Effective != ib.LinkTypeETH
		if !becomes || port.PortGUID == 0 {
			continue
		}
		refuse := func(what string) {
			f := finding.PortEthernet.Find("This plan makes port %s of %s Ethernet.", port.PortGUID, s.At.Ref.Host).At("ports")
			f.WayOut = "If the port is to be Ethernet, remove the resource that the title names. If not, leave the port " +
				"\"ib\" here."
			refused = diagnostic.AddFindings(ctx, s.Diags, what, []finding.Finding{f}) || refused
		}
		sm := attribute.PortRef{Host: s.At.Ref.Host, GUID: port.PortGUID}
		if o.Planned.SM(sm) {
			refuse("run subnet manager " + sm.String())
		}
		for _, at := range o.Planned.IPoIBOn(sm.Host, sm.GUID) {
			refuse("configure IPoIB interface " + at.String())
		}
		if o.Planned.Claimed("infiniband_port", o.NumberedPortKey(s.At.Ref, port.Number)) {
			refuse(fmt.Sprintf("set port %s/%d", s.At.Ref, port.Number))
		}
	}
	return refused
}

// waits reports whether the ports keep their types until somebody restarts the host.
func waits(s *step) bool {
	for _, p := range s.Found.Ports {
		if p.InCard {
			return s.Verdict.Activation != safety.ActivationReboot
		}
	}
	return false
}

// Restarts says why the host will be restarted.
func (o object) Restarts(s *step) string {
	for number, want := range s.Ask.Request.Ports {
		if s.Found.Ports[number].Persistent != want {
			return "The apply stores the link types in the card. Then it restarts the host, so that the ports change."
		}
	}
	return "The card has the link types stored, and its ports do not have them yet. Nothing is stored anew."
}

// Holds reports whether the state has every port that the configuration names as it names it.
func (o object) Holds(s *step) bool { return s.State.holds(*s.Config) }

// holds reports whether the state is of the configured card and has every port
// that the configuration names as it names it; after an import it has all of them. Where
// the next boot would give a port another type, the state does not hold it: another card's
// resource of the same apply may store the types of both, see planned.NoteToDo.
func (m *model) holds(config model) bool {
	for key, want := range config.Ports.Elements() {
		if have, ok := m.Ports.Elements()[key]; !ok || !have.Equal(want) {
			return false
		}
		if next, ok := m.NextBoot.Elements()[key]; !ok || !next.Equal(want) {
			return false
		}
	}
	waits := m.RebootRequired.ValueBool() && attribute.ActivationOf(config.Activation) == attribute.ActivationReboot
	return attribute.SameCardThere(m.CardID, m.CardIdentity, config.CardID) && !waits
}

// ToDo reports whether an update is planned of a state that holds what is asked for.
func (o object) ToDo(s *step) bool {
	return s.Verdict.Action != safety.ActionNone || s.ClosesJobs() || sawOther(s)
}

// sawOther reports whether the refresh of a state saw another type in effect than is asked for:
// the update that its plan announced reads the card back, also if the port has the type by now.
// planned.NoteToDo says why; here the state itself is the note. A card that decides by its own
// configuration shows another type until the next restart.
func sawOther(s *step) bool {
	for number, want := range s.Ask.Request.Ports {
		saw, _ := s.State.Effective.Elements()[strconv.Itoa(number)].(types.String)
		other := want == ib.LinkTypeIB && saw.ValueString() == ib.LinkTypeETH.String() ||
			want == ib.LinkTypeETH && saw.ValueString() == ib.LinkTypeIB.String()
		if other && !s.Found.Ports[number].InCard {
			return true
		}
	}
	return false
}

// keeps is object.Keeps without a warning.
func keeps(s *step) bool {
	sameRestart := attribute.ActivationOf(s.State.Activation) == s.Config.Activation.ValueString()
	gone := false
	for number, want := range s.Ask.Request.Ports {
		switch p := s.Found.Ports[number]; {
		case p.Shown == "" && (!p.InCard || sameRestart && s.State.had(number, want)):
			gone = true
		case !p.InCard && p.Configured != want:
			return false
		}
	}
	// Types that other firmware has are set after its burn.
	return s.Found.Unanswered != "" || gone && s.Ask.PlannedPSID == ""
}

// had reports whether a port had a type in effect when something showed it.
func (m *model) had(number int, t ib.LinkType) bool {
	was, _ := m.Effective.Elements()[strconv.Itoa(number)].(types.String)
	return was.ValueString() == t.String()
}

// warnUnanswered says why the state keeps what it has of a card's configuration.
func warnUnanswered(diags *diag.Diagnostics, ref attribute.CardRef, now ops.State) {
	diags.AddWarning("Card "+ref.String()+": its stored link types could not be read",
		"mstconfig did not say what the card's configuration has. The state keeps what was read of it last: stored_in, "+
			"next_boot and reboot_required. "+
			"What the ports are now was read from the driver.\n\nPlan again: a busy card may answer next time.\n\nReason: "+
			now.Unanswered)
}

// warnUnshown says of which ports the state keeps the type in effect.
func warnUnshown(diags *diag.Diagnostics, ref attribute.CardRef, ports []int) {
	if len(ports) == 0 {
		return
	}
	said := make([]string, len(ports))
	for i, number := range ports {
		said[i] = fmt.Sprintf("Port %d", number)
	}
	diags.AddWarning("Card "+ref.String()+": its ports show no link types",
		strings.Join(said, ", ")+": the driver shows no type. The state keeps in effective what was read of it last, "+
			"if anything was.\n\n"+finding.PortTypesNotShown.WayOut)
}

// uses names what does not live on an Ethernet port.
func uses(s *inventory.Snapshot, port ib.GUID) []string {
	return slices.Concat(found.Uses(s, port), smfound.Of(s, port).Users())
}

// foresee fills in what the plan says of the change. Core plans a new resource once more before
// the create and wants the same: so it stops if the ports have changed. An update follows from
// the state.
func (o object) foresee(s *step) {
	m := s.Plan
	m.Change, m.Restart = types.StringUnknown(), attribute.UnknownRestart()
	if s.Verdict.Action == safety.ActionWait || s.ClosesJobs() {
		return
	}
	inCard, stores := storedInCard(s)
	switch {
	case s.Verdict.Activation != safety.ActivationReboot || !inCard:
		m.Restart = attribute.NoRestart() // a driver switches the ports itself
		m.Drains = managed.PlannedDrains(o.Resource, s.At.Ref.Host, switches(s), s.State.Drains, s.Diags)
	case stores:
		m.Restart = s.At.Restart()
	}
	m.Change = foreseenChange(s)
}

// Interrupts reports whether the driver switches a port.
func (o object) Interrupts(s *step) bool {
	for number, want := range s.Ask.Request.Ports {
		if p := s.Found.Ports[number]; !p.InCard && p.Shown != "" && p.Configured != want {
			return true
		}
	}
	return false
}

// switches is what a plan knows of that: of an object that exists it follows from the state, see foreseenChange.
func switches(s *step) types.Bool {
	inCard, _ := storedInCard(s)
	switch {
	case inCard:
		return types.BoolValue(false)
	case s.Exists && attribute.SameCard(s.State.CardID, s.State.CardIdentity, s.Plan.CardID):
		return s.State.switchesTo(s.Ask.Request.Ports)
	case s.Ask.PlannedPSID != "" || !steady(s):
		return types.BoolUnknown()
	}
	return types.BoolValue(object{}.Interrupts(s))
}

// foreseenChange is the change that a plan says; unknown if something else of the plan decides it.
func foreseenChange(s *step) types.String {
	switch m := s.Plan; {
	case s.Exists && attribute.SameCard(s.State.CardID, s.State.CardIdentity, m.CardID):
		if change := m.changed(*s.State); change != "" {
			return types.StringValue(change)
		}
		return types.StringUnknown()
	case s.Ask.PlannedPSID != "" || !steady(s):
		return types.StringUnknown()
	case s.Verdict.Action == safety.ActionNone:
		return types.StringNull()
	default:
		return types.StringValue(cmp.Or(changeText(s.Found.State, s.Ask.Request.Ports), storedAnew))
	}
}

// storedInCard reports whether the ports decide by the card's own configuration, and whether that is
// to be written.
func storedInCard(s *step) (yes, stores bool) {
	for number, want := range s.Ask.Request.Ports {
		p := s.Found.Ports[number]
		yes, stores = yes || p.InCard, stores || p.InCard && p.Persistent != want
	}
	return yes, stores
}

// steady reports whether other resources of the plan leave the ports as they are. One may restart
// the host first, and that of another card may store what holds for all cards of a driver.
func steady(s *step) bool {
	inCard := false
	for number := range s.Ask.Request.Ports {
		p := s.Found.Ports[number]
		if p.Shown == "" || p.Persistent != "" && p.Persistent != p.Configured {
			return false
		}
		inCard = inCard || p.InCard
	}
	return inCard || s.Verdict.Action == safety.ActionNone || len(s.At.Snap.Cards) == 1
}
