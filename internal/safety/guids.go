package safety

import (
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// GUIDValues gives the findings on requested values alone and against the rest
// of the lab; it needs nothing of the card but its name.
func GUIDValues(host string, pci ib.PCIAddress, req GUIDRequest, lab clash.Facts) []finding.Finding {
	if found := baseRoom(req); len(found) > 0 {
		return found // a base that is wrong makes the derived values wrong too
	}
	var found []finding.Finding
	if req.HasGUIDs {
		found = append(found, clash.GUIDValues(counted(req))...)
	}
	if req.HasMACs {
		found = append(found, clash.MACValues(counted(req))...)
	}
	asked := askedHalf(req)
	found = append(found, lab.Taken(host, pci, asked)...)
	found = append(found, lab.SecondNames(host, pci, asked)...)
	for _, clash := range lab.TakenGUIDs(asked) {
		found = append(found, finding.GUIDInFabric.Find("%s", clash))
	}
	if req.BaseGUID != 0 && req.HasGUIDs {
		found = append(found, lab.Overlaps(host, pci, req.BaseGUID)...)
	}
	return found
}

// askedHalf blanks the half that is not asked for, so that it is not compared.
func askedHalf(req GUIDRequest) ib.GUIDSet {
	set := counted(req)
	if !req.HasGUIDs {
		set.Node, set.Port1, set.Port2, set.SystemImage = 0, 0, 0, 0
	}
	if !req.HasMACs {
		set.MAC1, set.MAC2 = 0, 0
	}
	return set
}

// counted is what the ports will have: a chip with one base gives port 2 the next values.
func counted(req GUIDRequest) ib.GUIDSet {
	set := req.Want
	if req.OneBase {
		set.Port2, set.MAC2 = set.Port1+1, set.MAC1+1
	}
	return set
}

func baseRoom(req GUIDRequest) []finding.Finding {
	var found []finding.Finding
	if req.BaseGUID != 0 {
		if _, err := req.BaseGUID.Add(3); err != nil {
			found = append(found, finding.BaseTooHigh.Find("%v", err).At("base_guid"))
		}
	}
	if req.BaseMAC != 0 {
		if _, err := req.BaseMAC.Add(1); err != nil {
			found = append(found, finding.BaseTooHigh.Find("%v", err).At("base_mac"))
		}
	}
	return found
}

// GUIDs gives the verdict on programming GUIDs and MACs. On FS2 that re-burns
// the image in flash, so that the card must be in the state a burn needs.
func GUIDs(in GUIDInput) Verdict {
	v := Verdict{Action: ActionSetGUIDs, GUIDs: completeGUIDs(in)}
	v.From = in.Card.InFlash().Firmware
	v.To = v.From
	v.Findings = GUIDValues(in.Card.Host, in.Card.PCI, in.Request, in.Lab)
	if w, running := waitVerdict(in.Card, in.Host, v.Findings); running {
		return w
	}
	v.Findings = append(v.Findings, cardReach(in.Card, in.Host)...)
	held := in.Card.FlashKnown() && !in.Card.InFlash().BlankGUIDs && in.Card.InFlash().GUIDs == v.GUIDs
	if held && (!in.Waits || in.Request.Activation != ActivationReboot) {
		v.Findings = toldOnly(v.Findings, finding.GUIDUntilRestart) // the cure is the other card's
	}
	if v.Blocked() {
		return seal(v, in.Card, false)
	}
	if held {
		v.Action = ActionNone
		return seal(inEffect(v, in), in.Card, false)
	}
	v.Findings = append(v.Findings, checkOneBase(in.Card)...)
	v.Findings = append(v.Findings, unseenFabric(in, v.GUIDs)...)
	v.Findings = append(v.Findings, rewritable(in.Card)...)
	v.Findings = append(v.Findings, stagedBeforeGUIDs(in)...)
	v.Findings = append(v.Findings, stagedGUIDs(in.Card)...)
	v.Findings = append(v.Findings, replacedGUIDs(in)...)
	v.Findings = append(v.Findings, keptIdentity(in, v.GUIDs)...)
	v.Findings = append(v.Findings, machine(in.Card, in.Host, spaceReserve+16<<20)...)
	act, found := restartAfter(in.Card, in.Host, in.Request.Activation)
	v.Activation, v.Findings = act, append(v.Findings, found...)
	if act == ActivationReboot {
		v.Findings = append(v.Findings, hostcheck.Path(&in.Host.Snapshot, in.Card.PCI, in.Request.ManagementPath)...)
	}
	v.Findings = append(v.Findings, backup(in.Card, in.Backup)...)
	if !in.Card.InFlash().BlankGUIDs && !laterChip(in.Card) {
		v.Answers = []Question{QuestionGUIDs}
	}
	return seal(v, in.Card, in.Backup != nil)
}

// unseenFabric is the finding on a fabric that could not be read. It matters only where the
// card gets new GUIDs.
func unseenFabric(in GUIDInput, becomes ib.GUIDSet) []finding.Finding {
	has := in.Card.InFlash().GUIDs
	has.MAC1, has.MAC2 = becomes.MAC1, becomes.MAC2
	keeps := in.Card.FlashKnown() && !in.Card.InFlash().BlankGUIDs && has == becomes
	if !in.Request.HasGUIDs || keeps {
		return nil
	}
	return in.Lab.UnseenFabric()
}

// toldOnly makes warnings of the findings of a rule that refuses.
func toldOnly(found []finding.Finding, rule *finding.Rule) []finding.Finding {
	for i := range found {
		if found[i].Rule == rule {
			found[i].Severity = finding.Warn
		}
	}
	return found
}

// inEffect adds to the verdict on a card that has the values what a restart for
// their sake depends on.
func inEffect(v Verdict, in GUIDInput) Verdict {
	if !in.Waits {
		return v
	}
	if in.Request.Activation == ActivationReboot {
		v.Findings = append(v.Findings, Blockers(stagedBeforeGUIDs(in))...)
	}
	return restartOnly(v, in.Card, in.Host, in.Request.Activation, in.Request.ManagementPath)
}

// stagedBeforeGUIDs judges GUIDs on a card that does not run what is in its flash. Setting
// them burns the image in flash again, over the one that runs, and the restart loads it. An
// image that this provider burned since the host started is known and was announced. Any
// other image is somebody else's, and no plan for GUIDs announces it.
func stagedBeforeGUIDs(in GUIDInput) []finding.Finding {
	if in.Card.staged() == "" {
		return stagedFindings(in.Card, finding.FlashNotRunning, in.Request.UnprovenFlash)
	}
	return nil
}

func replacedGUIDs(in GUIDInput) []finding.Finding {
	req := in.Request
	if in.Card.InFlash().BlankGUIDs {
		if req.HasGUIDs && req.HasMACs {
			return nil
		}
		return []finding.Finding{finding.GUIDsIncomplete.Find("GUIDs given: %t, MACs given: %t", req.HasGUIDs, req.HasMACs)}
	}
	return replacedFinding(in)
}

// replacedFinding asks for consent to replace valid values. The consent names each of them and
// what it becomes, so that a card that has others by then keeps them.
func replacedFinding(in GUIDInput) []finding.Finding {
	change := in.replaced()
	if len(change.From) == 0 {
		return nil
	}
	var all []string
	for i, from := range change.From {
		all = append(all, from+" becomes "+change.To[i])
	}
	rule := finding.GUIDsWouldChange
	f := rule.Find("%s.", strings.Join(all, ", ")).WithConsent(rule.ConsentLine(
		"{ from = " + finding.Names(change.From...) + ", to = " + finding.Names(change.To...) + " }"))
	switch consent := in.Request.Change; {
	case consent.allows(change):
		return []finding.Finding{f.AsGranted("Valid GUIDs or MACs are replaced, as allowed")}
	case len(consent.From) > 0:
		f.Evidence = rule.ConsentName() + " names other values. " + f.Evidence
	}
	return []finding.Finding{f}
}

// replaced gives the values that would be lost: those in flash that are valid and of this card
// alone, and that become others. What a job of this provider wrote is no loss. What this card had
// before or after such a job may come back.
func (in GUIDInput) replaced() GUIDChange {
	var change GUIDChange
	has := in.Card.InFlash().GUIDs
	for _, c := range has.Changes(completeGUIDs(in)) {
		if c.Unique && !in.written(c) && !in.shared(has, c.From) {
			change.From, change.To = append(change.From, c.From), append(change.To, c.To)
		}
	}
	return change
}

// written reports whether the value that goes came by a job of this provider, or whether one found
// or wrote the value that comes. What the first job found is the card's own, and stays so where a
// later one has put it back.
func (in GUIDInput) written(c ib.ValueChange) bool {
	own, ours := false, false
	for _, w := range in.Card.Writes { // the oldest first
		before, after := w.Before.Texts()[c.Place], w.After.Texts()[c.Place]
		if before == c.To || after == c.To {
			return true
		}
		own = own || before == c.From && !ours
		ours = ours || after == c.From && before != after
	}
	return ours && !own
}

// shared reports whether a card that surely is another one has the value.
func (in GUIDInput) shared(has ib.GUIDSet, value string) bool {
	return slices.ContainsFunc(in.Lab.Others(in.Card.Host, in.Card.PCI, has), func(other clash.Holder) bool {
		texts := other.GUIDs.Texts()
		return !other.Planned && in.Lab.OneMachine(in.Card.Host, other.Host).Known() && slices.Contains(texts[:], value)
	})
}

// keptIdentity gives the remarks on the half of the identity that is not asked for.
func keptIdentity(in GUIDInput, becomes ib.GUIDSet) []finding.Finding {
	if !in.Card.FlashKnown() || in.Card.InFlash().BlankGUIDs || in.Request.HasGUIDs && in.Request.HasMACs {
		return nil
	}
	found := missingGUIDs(becomes)
	kept := GUIDRequest{Want: becomes, HasGUIDs: !in.Request.HasGUIDs, HasMACs: !in.Request.HasMACs}
	for _, clash := range in.Lab.Clashes(in.Card.Host, in.Card.PCI, askedHalf(kept)) {
		found = append(found, finding.FlashGUIDsShared.Find("%s", clash))
	}
	return found
}

// completeGUIDs fills the half that is not asked for with the card's values, which
// mstflint keeps.
func completeGUIDs(in GUIDInput) ib.GUIDSet {
	set := in.Request.Want
	if !in.Request.HasGUIDs {
		set.Node, set.Port1, set.Port2, set.SystemImage = in.Card.InFlash().GUIDs.Node, in.Card.InFlash().GUIDs.Port1,
			in.Card.InFlash().GUIDs.Port2, in.Card.InFlash().GUIDs.SystemImage
	}
	if !in.Request.HasMACs {
		set.MAC1, set.MAC2 = in.Card.InFlash().GUIDs.MAC1, in.Card.InFlash().GUIDs.MAC2
	}
	return set
}

// stagedGUIDs finds GUIDs in flash that the card does not run with and that no job has
// written since the host started: somebody has burned the same firmware with other GUIDs.
// Ethernet-only firmware has no GUIDs in flash, and a card without a driver shows none. Of
// firmware that does not run, or may not, stagedFindings speaks.
func stagedGUIDs(card CardFacts) []finding.Finding {
	running, known := card.Running.Get()
	if !card.FlashKnown() || card.GUIDsBy != "" || !known || running != card.InFlash().Firmware {
		return nil
	}
	for _, g := range []struct {
		name       string
		flash, now ib.GUID
	}{
		{"node GUID", card.InFlash().GUIDs.Node, card.NodeGUID},
		{"system image GUID", card.InFlash().GUIDs.SystemImage, card.SystemGUID},
	} {
		if g.flash.IsNone() || g.now.IsNone() || g.flash == g.now {
			continue
		}
		found := finding.GUIDsWouldChange.Find("In flash: %s %s, which no job has written since the "+
			"host started. The card runs with %s. The apply writes over what is in flash.", g.name, g.flash, g.now)
		found.Severity, found.Summary = finding.Warn, "GUIDs that somebody has written are replaced before they ran"
		return []finding.Finding{found.WithWayOut("")}
	}
	return nil
}
