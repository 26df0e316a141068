package hca

import (
	"context"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// GUIDs asks for GUIDs and MACs on a card.
type GUIDs struct {
	Card    cards.Card
	Request safety.GUIDRequest // from GUIDSpec.Resolve, with activation and consent added
	Lab     clash.Facts
	// Kept is the half that is not asked for, as the plan has it; nil: not compared.
	Kept *KeptHalf
	// Before is what flash held when the plan was made; nil: not known, and not compared.
	Before *ib.GUIDSet
}

// overwritten names what somebody has written after the plan and the change would replace;
// empty if flash holds what the plan saw, or what is asked for.
func (g GUIDs) overwritten(now inventory.Flash) string {
	if g.Before == nil || (GUIDState{InFlash: now.GUIDs, Blank: now.BlankGUIDs}).Has(g.Request) {
		return ""
	}
	was, is := usable(*g.Before), usable(now.GUIDs)
	var all []string
	if g.Request.HasGUIDs && was.Words() != is.Words() {
		all = append(all, fmt.Sprintf("the plan replaces the GUIDs %s; now the flash has %s", was.Words(), is.Words()))
	}
	if g.Request.HasMACs && (was.MAC1 != is.MAC1 || was.MAC2 != is.MAC2) {
		all = append(all, fmt.Sprintf("the plan replaces the MACs %s %s; now the flash has %s %s", was.MAC1, was.MAC2,
			is.MAC1, is.MAC2))
	}
	return strings.Join(all, ", and ")
}

// changed says what is not as the plan had it. What a job of ours wrote, and this apply has
// settled, the plan has named.
func (g GUIDs) changed(a cards.Assessment, settled bool) string {
	if !a.Card.FlashKnown() {
		return ""
	}
	if text := g.Kept.changedValues(a.Card.InFlash().GUIDs); text != "" || settled && a.Card.GUIDsBy != "" {
		return text
	}
	return g.overwritten(*a.Card.Flash)
}

// KeptHalf is the half of an identity, GUIDs or MACs, that a change leaves alone. If
// the card has another one by now, it is not the card that was planned for.
type KeptHalf struct {
	GUIDs, MACs bool // which half
	Set         ib.GUIDSet
}

// changedValues names the values that differ from the kept ones; empty if none does.
func (k *KeptHalf) changedValues(now ib.GUIDSet) string {
	switch {
	case k == nil:
	case k.GUIDs && usable(now).Words() != usable(k.Set).Words():
		return fmt.Sprintf("the plan leaves its GUIDs as they were, %s; now they are %s", k.Set.Words(), now.Words())
	case k.MACs && (usable(now).MAC1 != k.Set.MAC1 || usable(now).MAC2 != k.Set.MAC2):
		return fmt.Sprintf("the plan leaves its MACs as they were, %s %s; now they are %s %s", k.Set.MAC1, k.Set.MAC2,
			now.MAC1, now.MAC2)
	}
	return ""
}

// usable has zero for each GUID and MAC that was never set.
func usable(set ib.GUIDSet) ib.GUIDSet {
	for _, g := range []*ib.GUID{&set.Node, &set.Port1, &set.Port2, &set.SystemImage} {
		if g.IsUnset() {
			*g = 0
		}
	}
	for _, m := range []*ib.MAC{&set.MAC1, &set.MAC2} {
		if m.IsBroadcast() {
			*m = 0
		}
	}
	return set
}

// GUIDState is what was read back about a card's identity.
type GUIDState struct {
	InFlash   ib.GUIDSet
	Blank     bool       // never set
	Effective ib.GUIDSet // what the driver shows; zero where it shows nothing
	// Pending says that flash holds other GUIDs than are in effect. Shown says that
	// something shows what is in effect.
	Pending bool
	Shown   bool
	OneBase bool // the chip stores one GUID and one MAC, and counts from them
	Work
}

// Has reports whether flash already holds what is asked for.
func (s GUIDState) Has(req safety.GUIDRequest) bool {
	have, want := s.InFlash, req.Want
	if s.Blank || req.HasGUIDs && (have.Node != want.Node || have.Port1 != want.Port1 || have.Port2 != want.Port2 ||
		have.SystemImage != want.SystemImage) {
		return false
	}
	return !req.HasMACs || have.MAC1 == want.MAC1 && have.MAC2 == want.MAC2
}

// AssessGUIDs gives the verdict on GUIDs for a card. It reads and never writes.
func (o *Ops) AssessGUIDs(ctx context.Context, g GUIDs) (cards.Assessment, error) {
	l, err := g.Card.Look(ctx)
	if err != nil {
		return cards.Assessment{}, err
	}
	a := o.Assess(g.Card, l)
	a.Card.Flash = l.Card.ReadFlash()
	in := g.input(a, nil)
	if a.Card.Flash != nil {
		in.Waits = differs(l.Card.Flash.GUIDs, effective(l))
	}
	// Twice: only a write is worth an inspection, and that it needs one the first verdict says.
	first := safety.GUIDs(in)
	if first.Action != safety.ActionNone && a.Card.FlashKnown() && !a.Host.Observe && !a.Host.AnyJobMayRun() &&
		a.Host.MSTFlint.Present {
		if err = o.Inspect(ctx, g.Card.Host, &a.Card); err != nil {
			return cards.Assessment{}, err
		}
		in.Card = a.Card
	}
	err = o.Judge(ctx, g.Card.Host, &a, func(card safety.CardFacts) safety.Verdict {
		in.Card = card
		return safety.GUIDs(in)
	})
	return a, err
}

// ApplyGUIDs programs GUIDs and MACs and, if asked, has them take effect. It
// converges like ApplyFirmware, with the same errors.
func (o *Ops) ApplyGUIDs(ctx context.Context, g GUIDs) (GUIDState, error) {
	var state GUIDState
	a, err := job.Begin(ctx, o.Session, g.Card, g.what(), &state.Did,
		func(ctx context.Context) (cards.Assessment, error) { return o.AssessGUIDs(ctx, g) })
	if err != nil {
		return state, err
	}
	if changed := g.changed(a, len(state.Did) > 0); changed != "" {
		return state, &safety.RefusedError{What: g.what(),
			Findings: []finding.Finding{finding.ChangedSincePlan.Find("Card %s: %s.", g.Card.ID(), changed)}}
	}
	if a.Verdict.Action == safety.ActionSetGUIDs {
		if err = o.write(ctx, g, a, &state.Work); err != nil {
			return state, err
		}
	}
	goal := guidGoal(g.Card, a.Verdict.To, a.Verdict.GUIDs, g.Request.ManagementPath)
	if err = o.activate(ctx, g.Card, a.Verdict.Activation, goal, &state.Work); err != nil {
		return state, err
	}
	l, err := g.Card.Look(ctx)
	if err != nil {
		return state, err
	}
	now := ReadGUIDs(l)
	now.BackupPath, now.Did = state.BackupPath, state.Did
	return now, nil
}

func (g GUIDs) card() cards.Card      { return g.Card }
func (g GUIDs) what() string          { return "set GUIDs of card " + g.Card.ID() }
func (g GUIDs) action() safety.Action { return safety.ActionSetGUIDs }

func (g GUIDs) input(a cards.Assessment, backup *safety.BackupFacts) safety.GUIDInput {
	return safety.GUIDInput{Card: a.Card, Host: a.Host, Lab: g.Lab, Request: g.Request, Backup: backup}
}

func (g GUIDs) verdict(a cards.Assessment, backup *safety.BackupFacts) safety.Verdict {
	return safety.GUIDs(g.input(a, backup))
}

func (g GUIDs) entry(v safety.Verdict, before safety.CardFacts) (journal.Entry, error) {
	e, err := job.SetGUIDs(g.Card.PCI, before.Chip, v.GUIDs, v.Answers)
	// The checksum leaves identities out, so that a change of GUIDs must not change it.
	e.Checksum = before.Checksum
	return e, err
}

// ReadGUIDs gives the identity of a card from a look.
func ReadGUIDs(l *cards.Look) GUIDState {
	state := GUIDState{Effective: effective(l), OneBase: !l.Card.Chip.IsFS2()}
	state.JobID = l.Jobs.Own().Last(journal.GUIDs).ID
	if l.Card.ReadFlash() == nil {
		return state
	}
	state.InFlash, state.Blank = l.Card.Flash.GUIDs, l.Card.Flash.BlankGUIDs
	state.Pending = differs(state.InFlash, state.Effective)
	state.Shown = isShown(state.InFlash, state.Effective)
	return state
}

// effective reads what runs from the driver. A port GUID is only shown by a
// port that is InfiniBand, a MAC only by one that is Ethernet.
func effective(l *cards.Look) ib.GUIDSet {
	set := ib.GUIDSet{Node: l.Card.NodeGUID, SystemImage: l.Card.SystemGUID}
	for _, p := range l.Card.Ports {
		if p.LinkLayer != "InfiniBand" && !p.PortGUID.IsZero() {
			continue // the GID of an Ethernet port is made from its MAC
		}
		switch p.Number {
		case 1:
			set.Port1 = p.PortGUID
		case 2:
			set.Port2 = p.PortGUID
		}
	}
	set.MAC1, set.MAC2 = ethernetMACs(l.Snap, l.Card.PCI)
	return set
}

// ethernetMACs reads the addresses of the card's Ethernet interfaces, zero
// where a port has none.
func ethernetMACs(s *inventory.Snapshot, pci ib.PCIAddress) (first, second ib.MAC) {
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		mac, err := ib.ParseMAC(n.Address)
		if err != nil || n.IB || n.PCI != pci || n.Parent != "" {
			continue
		}
		switch n.DevPort {
		case 0:
			first = mac
		case 1:
			second = mac
		}
	}
	return first, second
}

// isShown reports whether it is known what is in effect: a driver shows the node GUID.
// A card whose GUIDs were never set has nothing to show.
func isShown(flash, now ib.GUIDSet) bool { return !now.Node.IsZero() || flash.Node.IsUnset() }

// differs compares flash with what the driver shows, value by value. Ethernet-only
// firmware has all-ones GUIDs in flash, for which drivers show various values, so these
// are not compared.
func differs(flash, now ib.GUIDSet) bool {
	for _, p := range [][2]ib.GUID{{flash.Node, now.Node}, {flash.SystemImage, now.SystemImage}, {flash.Port1, now.Port1},
		{flash.Port2, now.Port2}} {
		// Zero is a port that shows nothing: no port 2, or one that is Ethernet.
		if !p[0].IsUnset() && !p[1].IsZero() && p[0] != p[1] {
			return true
		}
	}
	return false
}

func guidGoal(c cards.Card, to ib.Firmware, guids ib.GUIDSet, consent []string) activation.Goal {
	return activation.Goal{
		Consent: consent, Title: "GUIDs of card " + c.ID() + " are written",
		Content: to.PSID.String() + " " + to.FW.String() + " " + guids.Words(), Text: "GUIDs " + guids.Words(),
		Loads: func(flash inventory.Flash) bool { return flash.Firmware == to && flash.GUIDs == guids },
		Reached: func(l *cards.Look) (bool, bool) {
			now := effective(l)
			known := isShown(guids, now)
			return known && !differs(guids, now), known
		},
	}
}
