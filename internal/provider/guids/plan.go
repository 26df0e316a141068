package guids

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Plan shows all values, and tells the rest of the plan of them.
func (o object) Plan(_ context.Context, s *step) (live []string, ok bool) {
	o.remember(s)
	given := *s.Plan
	given.BaseGUID, given.BaseMAC = s.Config.BaseGUID, s.Config.BaseMAC
	plan(s)
	s.Plan.keepGiven(given)
	return s.Plan.live(s.Held, *s.State), true
}

// Holds reports whether the state has what is asked for.
func (o object) Holds(s *step) bool { return s.State.holds(*s.Config, s.Ask.Request) }

// Keeps implements managed.CardObject: what a flash holds is read, or it is not changed.
func (o object) Keeps(*step) bool { return false }

// Restarts says why the host will be restarted.
func (o object) Restarts(s *step) string {
	if writes(s) {
		return "The apply writes the GUIDs into flash. Then it restarts the host, so that the card uses them."
	}
	return "The flash has the GUIDs, and the card does not use them yet. Nothing is written."
}

// remember tells the rest of the plan which GUIDs the card will have. An apply that was
// interrupted may have left them in flash: then the restart alone gives them to the card.
func (o object) remember(s *step) {
	want := s.Verdict.GUIDs
	if waiting(s) { // it cannot be read; what is not asked for is completed at apply
		want = s.Ask.Request.Want
	}
	o.Planned.UpdateCard(s.At.Ref, func(c *planned.Card) {
		c.Restarts = s.Verdict.Activation == safety.ActivationReboot
		if (writes(s) || c.Restarts) && (!waiting(s) || s.Ask.Request.HasGUIDs) {
			c.GUIDs = &want
		}
	})
	o.Await(s.At.Ref, s.Verdict, hca.WaitsGUIDs)
	if writes(s) && !waiting(s) {
		o.RunLog.WarnOfRunner(s.Diags)
	}
}

// waiting reports whether a job of an earlier apply has the card.
func waiting(s *step) bool { return s.Verdict.Action == safety.ActionWait }

// writes reports whether the card is going to be changed.
func writes(s *step) bool { return s.Verdict.Action != safety.ActionNone }

// ToDo implements managed.CardObject.
func (o object) ToDo(s *step) bool {
	waits := s.Found.Pending && s.Config.Activation.ValueString() == attribute.ActivationReboot
	return writes(s) || s.ClosesJobs() || waits
}

// live are the attributes of an update that the host decides. A new resource has the verdict, and
// so has the restart after a change that follows from the state.
func (m *model) live(held bool, prior model) []string {
	all := []string{"backup_path", "effective", "reboot_required"}
	switch {
	case m.isNew(prior):
		return nil
	case held:
		return append(all, "restarts", "drains")
	}
	return all
}

// isNew reports whether the state is not of the card.
func (m *model) isNew(prior model) bool {
	return prior.ID.IsNull() || !attribute.SameCard(prior.CardID, prior.CardIdentity, m.CardID)
}

// plan fills what follows from configuration and state: the half that is asked for, and
// the other half as the state has it. planned.Steady handles what the host decides.
func plan(s *step) {
	req, m, prior := s.Ask.Request, s.Plan, *s.State
	m.ID = types.StringValue(s.At.Ref.String())
	if m.isNew(prior) {
		planNew(s)
		return
	}
	set := prior.identity()
	if req.HasGUIDs {
		set.Node, set.Port1, set.Port2, set.SystemImage = req.Want.Node, req.Want.Port1, req.Want.Port2, req.Want.SystemImage
	} else {
		m.BaseGUID, m.NodeGUID, m.SystemGUID, m.PortGUIDs = attribute.UnknownText[attribute.GUIDKind](), prior.NodeGUID,
			prior.SystemGUID, prior.PortGUIDs
	}
	if req.HasMACs {
		set.MAC1, set.MAC2 = req.Want.MAC1, req.Want.MAC2
	} else {
		m.BaseMAC, m.MACs = attribute.UnknownText[attribute.MACKind](), prior.MACs
	}
	m.setIdentity(set)
	becomes := set
	onlyNamed(prior.PortGUIDs, &becomes.Port1, &becomes.Port2)
	onlyNamed(prior.MACs, &becomes.MAC1, &becomes.MAC2)
	m.Restart = attribute.NoRestart()
	if m.Change = changeOf(prior.identity(), becomes); m.Change.IsNull() {
		m.Change, m.Restart = prior.Change, attribute.UnknownRestart()
	} else if m.Activation.ValueString() == attribute.ActivationReboot {
		m.Restart = s.At.Restart()
	}
	// One port does not say what the other one has.
	if !req.HasGUIDs && len(prior.PortGUIDs.Elements()) == 1 {
		m.PortGUIDs = types.MapUnknown(attribute.GUIDType{})
	}
	if !req.HasMACs && len(prior.MACs.Elements()) == 1 {
		m.MACs = types.MapUnknown(attribute.MACType{})
	}
}

// planNew fills the half that is asked for, and the rest from the verdict. Core plans a new object
// once more before the create and wants the same: so it stops if the flash has changed. What an
// earlier run left open is not known before the apply has settled it.
func planNew(s *step) {
	req, v, m := s.Ask.Request, s.Verdict, s.Plan
	m.Effective, m.RebootRequired, m.BackupPath = types.ObjectUnknown(effectiveTypes), types.BoolUnknown(),
		types.StringUnknown()
	m.Restart, m.Change = attribute.UnknownRestart(), types.StringUnknown()
	if settled := !waiting(s) && !s.ClosesJobs() && s.At.Loss == nil; settled {
		m.setIdentity(becomes(s))
		m.Change, m.Restart = changeOf(s.Found.InFlash, becomes(s)), s.At.PlannedRestart(v)
		if !writes(s) {
			m.BackupPath = types.StringNull()
		}
		if s.Found.Shown && (v.Activation == safety.ActivationReboot || !writes(s) && !s.Found.Pending) {
			m.RebootRequired = types.BoolValue(false)
		} else if writes(s) || s.Found.Pending {
			m.leave()
		}
		return
	}
	m.setWanted(req)
}

// setWanted takes what is asked for; the rest depends on jobs of before.
func (m *model) setWanted(req safety.GUIDRequest) {
	m.setIdentity(req.Want)
	if !req.HasGUIDs {
		m.BaseGUID, m.NodeGUID, m.SystemGUID = attribute.UnknownText[attribute.GUIDKind](),
			attribute.UnknownText[attribute.GUIDKind](), attribute.UnknownText[attribute.GUIDKind]()
		m.PortGUIDs = types.MapUnknown(attribute.GUIDType{})
	}
	if !req.HasMACs {
		m.BaseMAC, m.MACs = attribute.UnknownText[attribute.MACKind](), types.MapUnknown(attribute.MACType{})
	}
}

// leave says nothing of what the restart by another resource changes, perhaps in the same apply.
func (m *model) leave() {
	if m.Activation.ValueString() != attribute.ActivationHost {
		return
	}
	m.Effective, m.RebootRequired = types.ObjectNull(effectiveTypes), types.BoolNull()
}

// becomes is what flash holds with all that is asked for.
func becomes(s *step) ib.GUIDSet {
	set, want := s.Found.InFlash, s.Ask.Request.Want
	if s.Ask.Request.HasGUIDs {
		set.Node, set.Port1, set.Port2, set.SystemImage = want.Node, want.Port1, want.Port2, want.SystemImage
	}
	if s.Ask.Request.HasMACs {
		set.MAC1, set.MAC2 = want.MAC1, want.MAC2
	}
	return set
}

// Becomes is what the apply does to the values in flash.
func (o object) Becomes(s *step) string { return changeOf(s.Found.InFlash, becomes(s)).ValueString() }
