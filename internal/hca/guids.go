package hca

import (
	"context"
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// GUIDSpec is how a configuration names GUIDs and MACs: by a base, or one by
// one. Nil and empty mean not given.
type GUIDSpec struct {
	BaseGUID    *ib.GUID
	BaseMAC     *ib.MAC
	Node        *ib.GUID
	Ports       []ib.GUID // one or two
	SystemImage *ib.GUID
	MACs        []ib.MAC // one or two
}

// Resolve completes the values as mstflint lays them out on ConnectX-3: node,
// port 1, port 2 and system image are base+0 to base+3, the MACs base+0 and
// base+1. base_mac alone gives the GUIDs as well, with 0300 in the middle. A
// single value given beside a base replaces the derived one. Its errors name
// what is missing or does not fit.
func (g GUIDSpec) Resolve() (safety.GUIDRequest, error) {
	var req safety.GUIDRequest
	if err := g.resolveGUIDs(&req); err != nil {
		return safety.GUIDRequest{}, err
	}
	if err := g.resolveMACs(&req); err != nil {
		return safety.GUIDRequest{}, err
	}
	if !req.HasGUIDs && !req.HasMACs {
		return safety.GUIDRequest{}, errors.New("no GUID and no MAC is given: set base_guid, base_mac, or single values")
	}
	return req, nil
}

func (g GUIDSpec) resolveGUIDs(req *safety.GUIDRequest) error {
	single := g.Node != nil || len(g.Ports) > 0 || g.SystemImage != nil
	base, hasBase := g.base()
	if hasBase {
		req.BaseGUID = base
		req.HasGUIDs = true
		node, p1, p2, sys, err := ib.GUIDsFromBase(base)
		if err != nil {
			return nil //nolint:nilerr // a base that leaves no room is a finding, and a refusal
		}
		req.Want.Node, req.Want.Port1, req.Want.Port2, req.Want.SystemImage = node, p1, p2, sys
	}
	if !single {
		return nil
	}
	if !hasBase && (g.Node == nil || len(g.Ports) == 0) {
		return errors.New("without base_guid or base_mac, node_guid and port_guids must both be given")
	}
	req.HasGUIDs = true
	return g.singles(req, hasBase)
}

// base gives the GUID that the others follow: base_guid, or what base_mac
// makes unless every GUID is given one by one.
func (g GUIDSpec) base() (ib.GUID, bool) {
	complete := g.Node != nil && len(g.Ports) > 0 && g.SystemImage != nil
	switch {
	case g.BaseGUID != nil:
		return *g.BaseGUID, true
	case g.BaseMAC != nil && !complete:
		return ib.GUIDFromMAC(*g.BaseMAC), true
	}
	return 0, false
}

func (g GUIDSpec) singles(req *safety.GUIDRequest, hasBase bool) error {
	if g.Node != nil {
		req.Want.Node = *g.Node
	}
	if len(g.Ports) > 2 {
		return errors.New("port_guids has more than two values; a ConnectX-3 has two ports")
	}
	if len(g.Ports) > 0 {
		req.Want.Port1 = g.Ports[0]
	}
	switch {
	case len(g.Ports) == 2:
		req.Want.Port2 = g.Ports[1]
	case len(g.Ports) == 1 && !hasBase:
		// mstflint wants four values on a single-port card too.
		next, err := g.Ports[0].Add(1)
		if err != nil {
			return err
		}
		req.Want.Port2 = next
	}
	switch {
	case g.SystemImage != nil:
		req.Want.SystemImage = *g.SystemImage
	case !hasBase:
		// One card is one system: its node GUID is the usual system image GUID.
		req.Want.SystemImage = *g.Node
	}
	return nil
}

func (g GUIDSpec) resolveMACs(req *safety.GUIDRequest) error {
	if g.BaseMAC != nil {
		req.BaseMAC, req.HasMACs = *g.BaseMAC, true
		second, err := g.BaseMAC.Add(1)
		if err != nil {
			return nil //nolint:nilerr // a base that leaves no room is a finding here, too
		}
		req.Want.MAC1, req.Want.MAC2 = *g.BaseMAC, second
	}
	switch len(g.MACs) {
	case 0:
		return nil
	case 1, 2:
	default:
		return errors.New("macs has more than two values; a ConnectX-3 has two ports")
	}
	req.HasMACs = true
	req.Want.MAC1 = g.MACs[0]
	if len(g.MACs) == 2 {
		req.Want.MAC2 = g.MACs[1]
		return nil
	}
	second, err := g.MACs[0].Add(1)
	if err != nil {
		return err
	}
	req.Want.MAC2 = second
	return nil
}

// GUIDs asks for GUIDs and MACs on a card.
type GUIDs struct {
	Card    Card
	Request safety.GUIDRequest // from GUIDSpec.Resolve, with activation and consent added
	Lab     safety.LabFacts
	// Kept is what the plan says of the half that is not asked for; nil: nothing.
	Kept *Kept
}

// Kept is a half of an identity that a change leaves as it is. A card on which it is
// another one by now is not what was planned for.
type Kept struct {
	GUIDs, MACs bool // which half
	Set         ib.GUIDSet
}

// changed names what is not as it was kept; empty if all is.
func (k *Kept) changed(now ib.GUIDSet) string {
	switch {
	case k == nil:
	case k.GUIDs && usable(now).Words() != usable(k.Set).Words():
		return fmt.Sprintf("the plan leaves its GUIDs as they were, %s; now they are %s", k.Set.Words(), now.Words())
	case k.MACs && (usable(now).MAC1 != k.Set.MAC1 || usable(now).MAC2 != k.Set.MAC2):
		return fmt.Sprintf("the plan leaves its MACs as they were, %s %s; now they are %s %s", k.Set.MAC1, k.Set.MAC2, now.MAC1, now.MAC2)
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
	// Pending says that the flash holds other GUIDs than those in effect; Shown says
	// that something shows what is in effect.
	Pending    bool
	Shown      bool
	BackupPath string
	JobID      string
	Did        []string
}

// Has reports whether the flash holds what is asked for, so that nothing is
// written.
func (s GUIDState) Has(req safety.GUIDRequest) bool {
	have, want := s.InFlash, req.Want
	if s.Blank || req.HasGUIDs && (have.Node != want.Node || have.Port1 != want.Port1 || have.Port2 != want.Port2 || have.SystemImage != want.SystemImage) {
		return false
	}
	return !req.HasMACs || have.MAC1 == want.MAC1 && have.MAC2 == want.MAC2
}

// AssessGUIDs gives the verdict on GUIDs for a card. It reads and never writes.
func (o *Ops) AssessGUIDs(ctx context.Context, g GUIDs) (Assessment, error) {
	s, card, err := snapshotCard(ctx, g.Card)
	if err != nil {
		return Assessment{}, err
	}
	a := Assessment{Card: g.Card.facts(s, card), Host: o.hostFacts(g.Card, s), Jobs: journal.Pending(s, g.Card.PCI)}
	in := safety.GUIDInput{Card: a.Card, Host: a.Host, Lab: g.Lab, Request: g.Request}
	if card.Flash != nil {
		in.Waits = differs(card.Flash.GUIDs, effective(s, card))
	}
	first := safety.GUIDs(in)
	if first.Action != safety.ActionNone && a.Card.FlashKnown && !a.Host.Observe && !a.Host.AnyJobMayRun() && a.Host.MSTFlint.Present {
		if err := o.inspect(ctx, g.Card.Host, &in.Card); err != nil {
			return Assessment{}, err
		}
		a.Card = in.Card
	}
	a.Verdict = safety.GUIDs(in)
	return a, nil
}

// ReadGUIDs gives the identity of a card from a snapshot.
func ReadGUIDs(s *inventory.Snapshot, pci ib.PCIAddress) (GUIDState, error) {
	card, ok := s.Card(pci)
	if !ok {
		return GUIDState{}, &NoCardError{Host: s.Host, PCI: pci}
	}
	state := GUIDState{Effective: effective(s, card)}
	for _, j := range s.JobsOf(pci) {
		if j.Kind == journal.GUIDs {
			state.JobID = j.ID
		}
	}
	if card.Flash == nil {
		return state, nil
	}
	state.InFlash, state.Blank = card.Flash.GUIDs, card.Flash.BlankGUIDs
	state.Pending = differs(state.InFlash, state.Effective)
	state.Shown = shown(state.InFlash, state.Effective)
	return state, nil
}

// effective reads what runs from the driver. A port GUID is only shown by a
// port that is InfiniBand, a MAC only by one that is Ethernet.
func effective(s *inventory.Snapshot, card *inventory.Card) ib.GUIDSet {
	set := ib.GUIDSet{Node: card.NodeGUID, SystemImage: card.SystemGUID}
	for _, p := range card.Ports {
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
	set.MAC1, set.MAC2 = ethernetMACs(s, card)
	return set
}

// ethernetMACs reads the addresses of the card's Ethernet interfaces, zero
// where a port has none.
func ethernetMACs(s *inventory.Snapshot, card *inventory.Card) (first, second ib.MAC) {
	for i := range s.Netdevs {
		n := &s.Netdevs[i]
		mac, err := ib.ParseMAC(n.Address)
		if err != nil || n.IB || n.PCI != card.PCI || n.Parent != "" {
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

// shown reports whether what is in effect is known: the node GUID tells. A card whose
// GUIDs were never set has none to show.
func shown(flash, now ib.GUIDSet) bool { return !now.Node.IsZero() || flash.Node.IsUnset() }

// differs compares what the driver shows, and nothing that it does not show.
// An Ethernet-only card has all-ones GUIDs in flash, for which drivers show
// various things, so these are not compared.
func differs(flash, now ib.GUIDSet) bool {
	for _, p := range [][2]ib.GUID{{flash.Node, now.Node}, {flash.SystemImage, now.SystemImage}, {flash.Port1, now.Port1}, {flash.Port2, now.Port2}} {
		if !p[0].IsUnset() && !p[1].IsZero() && p[0] != p[1] {
			return true
		}
	}
	return false
}
