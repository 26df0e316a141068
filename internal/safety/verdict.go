package safety

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
)

// Action is what a verdict says should be done.
type Action string

// The actions.
const (
	ActionNone      Action = "none" // the card already is what was asked
	ActionBurn      Action = "burn"
	ActionSetGUIDs  Action = "set guids"
	ActionLinkTypes Action = "set link types"
	ActionSettings  Action = "store settings"
	ActionBackup    Action = "back up"
	ActionRefuse    Action = "refuse"
	// ActionWait means that a job of an earlier run is changing this card now. Until it
	// has ended nothing can be said of the card.
	ActionWait Action = "wait"
)

// Activation is what makes the result take effect.
type Activation string

// The activations that ConnectX-3 knows: its firmware is only loaded at boot.
const (
	ActivationNone   Activation = "none"
	ActivationReboot Activation = "reboot"
	ActivationHost   Activation = "host" // by the infiniband_activation of the host
)

// Question is one confirmation that mstflint asks for and that the verdict
// allows to be answered with
// yes. Any other question must get no answer, which
// makes the tool stop before it writes.
type Question string

// The questions, in the order in which mstflint 4.21 asks them.
const (
	QuestionGUIDs   Question = "change GUIDs and MACs"
	QuestionVersion Question = "version is not newer"
	QuestionPSID    Question = "replace the PSID"
)

// Verdict is the answer. Only this package can make one that permits a write:
// permission is in unexported fields, so that neither a literal nor an edited
// copy grants it.
type Verdict struct {
	Action     Action
	Findings   []finding.Finding
	Activation Activation
	From, To   ib.Firmware // of ActionBurn
	GUIDs      ib.GUIDSet  // of ActionSetGUIDs: what to write
	Answers    []Question  // what may be answered with yes, in order
	ROM        bootrom.Outcome

	seal permit
}

type permit struct {
	action Action
	final  bool // asked with a proven backup at hand
	card   string
}

// withAddress puts the address of the card into the commands of the ways out: a command
// is copied as it stands.
func withAddress(findings []finding.Finding, pci ib.PCIAddress) []finding.Finding {
	out := slices.Clone(findings)
	for i := range out {
		out[i].WayOut = strings.ReplaceAll(out[i].WayOut, "<pci address>", pci.String())
	}
	return out
}

// seal computes the permission from the findings; it is the only place that
// grants one.
func seal(v Verdict, card CardFacts, final bool) Verdict {
	v = withIdentity(v, card)
	v.Findings = withAddress(v.Findings, card.PCI)
	if i := slices.IndexFunc(v.Findings, func(f finding.Finding) bool { return f.Rule == finding.HostObserved }); i >= 0 {
		// On a host in observe mode no other finding helps anybody.
		v.Findings = []finding.Finding{v.onlyRead(v.Findings[i], card)}
	}
	if v.Blocked() {
		v.Action, v.Activation, v.Answers = ActionRefuse, ActivationNone, nil
		return v
	}
	if card.Identity.Same() {
		v.seal = permit{action: v.Action, final: final, card: cardKey(card)}
	}
	return v
}

// withIdentity adds the findings on the identity of the card to a verdict. If nothing
// is to be written, an undecided identity is told and stops nothing.
func withIdentity(v Verdict, card CardFacts) Verdict {
	for _, f := range Identity(card.PCI.String()+" of "+card.Host, card.Identity) {
		if f.Rule == finding.CardUndecided && v.Action == ActionNone && v.Activation != ActivationReboot {
			f.Severity = finding.Warn
		}
		v.Findings = append([]finding.Finding{f}, v.Findings...)
	}
	return v
}

// onlyRead is that finding where the verdict itself knows what is not as asked.
func (v Verdict) onlyRead(f finding.Finding, card CardFacts) finding.Finding {
	firmware, guids := fmt.Sprintf("%s %s", v.From.PSID, v.From.FW), card.InFlash().GUIDs.Text()
	if !card.FlashKnown() {
		firmware, guids = "unknown firmware", "unknown GUIDs"
	}
	asked := "a copy of the firmware is kept there"
	switch {
	case v.Action == ActionBurn && v.To != (ib.Firmware{}) && v.To != v.From:
		asked = fmt.Sprintf("card %s has %s in flash, not %s %s", card.PCI, firmware, v.To.PSID, v.To.FW)
	case v.Action == ActionBurn && v.To != (ib.Firmware{}):
		asked = fmt.Sprintf("card %s has another build of %s in flash", card.PCI, firmware)
	case v.Action == ActionSetGUIDs:
		asked = fmt.Sprintf("card %s has %s in flash, not %s", card.PCI, guids, v.GUIDs.Text())
	case v.Action != ActionBackup:
		return f
	}
	f.Evidence = hostcheck.OnlyRead(card.Host, asked).Evidence
	return f
}

func cardKey(c CardFacts) string { return c.Host + "/" + c.PCI.String() }

// Blocked reports whether any finding stops the action.
func (v Verdict) Blocked() bool {
	return slices.ContainsFunc(v.Findings, func(f finding.Finding) bool { return f.Severity.Blocks() })
}

// Refusal is a *RefusedError of the operation if the verdict blocks, else nil.
func (v Verdict) Refusal(what string) error {
	if !v.Blocked() {
		return nil
	}
	return &RefusedError{What: what, Findings: v.Findings}
}

// Permits reports whether action may be done now to the card "host/pci". A
// verdict given at plan time, without a backup, permits no write of flash.
func (v Verdict) Permits(action Action, card string) bool {
	if v.seal.action != action || v.seal.card != card || v.Action != action || v.Blocked() {
		return false
	}
	return v.seal.final || action == ActionLinkTypes || action == ActionSettings
}

// Blockers gives the findings that stop the action.
func (v Verdict) Blockers() []finding.Finding { return Blockers(v.Findings) }

// Has reports whether a finding of the rule is in the verdict.
func (v Verdict) Has(rule *finding.Rule) bool {
	return slices.ContainsFunc(v.Findings, func(f finding.Finding) bool { return f.Rule == rule })
}

// Equal reports whether two verdicts lead to the same thing: plan and apply
// must agree on everything that decides, but not on wording, warnings or notes.
func (v Verdict) Equal(w Verdict) bool {
	return v.Action == w.Action && v.Activation == w.Activation && v.From == w.From && v.To == w.To &&
		v.GUIDs == w.GUIDs && v.ROM == w.ROM && slices.Equal(v.Answers, w.Answers) &&
		slices.Equal(codes(v.Blockers()), codes(w.Blockers()))
}

func codes(findings []finding.Finding) []string {
	out := make([]string, 0, len(findings))
	for _, f := range findings {
		out = append(out, f.Rule.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
