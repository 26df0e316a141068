package cards

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// Assessment is a verdict with the facts that it rests on.
type Assessment struct {
	Verdict safety.Verdict
	Card    safety.CardFacts
	Host    safety.HostFacts
	Jobs    []journal.Report // jobs of this card that are not settled
}

// ClosesJobs reports whether an apply closes a job of an earlier run. On a host in observe mode
// none does.
func (a Assessment) ClosesJobs() bool { return !a.Host.Observe && journal.AnyCloses(a.Jobs) }

// Judge asks for the verdict. If the verdict leads to a restart, it has the flash
// verified first, unless an inspection has done so: only a restart loads what is in
// flash.
func (o *Session) Judge(ctx context.Context, h host.Host, a *Assessment,
	judge func(safety.CardFacts) safety.Verdict) error {
	a.Verdict = judge(a.Card)
	// A verification reads the whole flash, which takes up to a minute: it is not made for a plan that restarts nothing.
	asked := a.Card.Verified != safety.VerifyUnknown || a.Card.VerifyError != ""
	restarts := func(f finding.Finding) bool { return f.Rule == finding.RestartIntoDamagedFlash }
	if asked || !slices.ContainsFunc(a.Verdict.Findings, restarts) {
		return nil
	}
	err := o.VerifyFlash(ctx, h, &a.Card)
	a.Verdict = judge(a.Card)
	return err
}

// Assess gives the facts for a verdict on a card, as the look has them.
func (o *Session) Assess(c Card, l *Look) Assessment {
	card := l.Facts
	card.Identity = c.Compare(l)
	return Assessment{Card: card, Host: o.hostFacts(c, l.Snap), Jobs: l.Pending}
}

// Compare compares the card in the slot with the recorded one. If they differ, or if the slot
// is empty, it looks for the recorded card in the other slots of the host.
func (c Card) Compare(l *Look) safety.IdentityFacts {
	f := safety.IdentityFacts{Recorded: c.Recorded, Now: l.Who, Elsewhere: c.Elsewhere, Edit: c.Edit}
	if l.Card != nil {
		f.Unread = l.Snap.SilentSerial(l.Card)
	}
	if f.Elsewhere != "" || f.Same() {
		return f
	}
	// By slot: the other functions of this very card are no other place.
	if pci, ok := l.Snap.Find(c.Recorded); ok && pci.Slot() != c.PCI.Slot() {
		f.Elsewhere = pci.String()
	}
	return f
}

// Confirm reads the host anew and refuses unless the card in the slot is the recorded
// one. It is the last step before a write. The look comes also with a refusal.
func (c Card) Confirm(ctx context.Context, what string) (*Look, error) {
	c.Host.Invalidate()
	l, err := c.Look(ctx)
	var gone *NoCardError
	if err != nil && !errors.As(err, &gone) {
		return l, err
	}
	f := c.Compare(l)
	if f.Same() || l.Card == nil && f.Elsewhere == "" {
		return l, err
	}
	return l, &safety.RefusedError{What: what, Findings: safety.Identity(c.PCI.String()+" of "+c.Host.Name(), f)}
}

// hostFacts gives the facts of the card's host, including the configuration and the
// operator's machine. That one is tried as often as the host is read, and not once for each object.
func (o *Session) hostFacts(c Card, s *inventory.Snapshot) safety.HostFacts {
	return safety.HostFacts{
		Snapshot: *s, Support: platform.SupportOf(s, c.PCI), Observe: c.Host.Observe(), RebootAllowed: c.RebootAllowed,
		Interrupts: c.Interrupts, BackupDir: o.BackupDir,
		BackupProblem: inventory.Derive(s, backupKey{}, func() string { return backupProblem(o.BackupDir) }),
	}
}

// backupKey is the key of what was found about the directory of the backups.
type backupKey struct{}

// Identities gives the identities of all cards of a host.
func Identities(s *inventory.Snapshot) []clash.Holder {
	all := make([]clash.Holder, 0, len(s.Cards))
	for i := range s.Cards {
		if c := &s.Cards[i]; !c.Virtual {
			all = append(all, clash.Holder{Host: s.Host, PCI: c.PCI, GUIDs: identityOf(c), Unread: whyUnread(c)})
			if old := replacedIdentity(c); old != (ib.GUIDSet{}) {
				all = append(all, clash.Holder{Host: s.Host, PCI: c.PCI, GUIDs: old, Running: true})
			}
		}
	}
	for i := range s.Netdevs {
		// Functions answer in the fabric with GUIDs of their own, which no flash has.
		for number, p := range s.Netdevs[i].Virtual {
			all = append(all, clash.Holder{Host: s.Host, PCI: s.Netdevs[i].PCI, Function: inventory.VirtualFunction(number),
				GUIDs: ib.GUIDSet{Node: p.Node, Port1: p.Port}})
		}
	}
	return all
}

// whyUnread says why a flash that a tool can read was not. The GUIDs of other cards are what
// their driver shows: no tool changes them, and without a driver they are in no fabric.
func whyUnread(c *inventory.Card) string {
	if c.FlashFailure == "" {
		return ""
	}
	return cmp.Or(c.FlashError, c.FlashFailure)
}

// identityOf prefers the flash: the card has that identity after its next start. What the
// flash does not say is as the driver shows it: the ports of ConnectX-4 and later, which
// count from one base, and all of Ethernet-only firmware.
func identityOf(c *inventory.Card) ib.GUIDSet {
	set := inUse(c)
	if c.Flash == nil {
		return set
	}
	for _, g := range guidPairs(&set, c.Flash.GUIDs) {
		// Ethernet-only firmware has all ones in flash: then what the driver shows is all that is known.
		if !g.flash.IsNone() || g.shown.IsZero() {
			*g.shown = g.flash
		}
	}
	set.MAC1, set.MAC2 = c.Flash.GUIDs.MAC1, c.Flash.GUIDs.MAC2
	return set
}

// replacedIdentity has the GUIDs that a card uses until its next start, and that its flash
// has no more. Other chips than those whose flash holds each GUID give none: see identityOf.
func replacedIdentity(c *inventory.Card) ib.GUIDSet {
	if c.Flash == nil || !c.Chip.IsFS2() {
		return ib.GUIDSet{}
	}
	flash, set := identityOf(c), inUse(c)
	for _, g := range guidPairs(&set, flash) {
		if slices.Contains([]ib.GUID{flash.Node, flash.Port1, flash.Port2, flash.SystemImage}, *g.shown) {
			*g.shown = 0
		}
	}
	return set
}

type guidPair struct {
	shown *ib.GUID
	flash ib.GUID
}

func guidPairs(shown *ib.GUIDSet, flash ib.GUIDSet) []guidPair {
	return []guidPair{{&shown.Node, flash.Node}, {&shown.Port1, flash.Port1}, {&shown.Port2, flash.Port2},
		{&shown.SystemImage, flash.SystemImage}}
}

// inUse is what the driver shows.
func inUse(c *inventory.Card) ib.GUIDSet {
	set := ib.GUIDSet{Node: c.NodeGUID, SystemImage: c.SystemGUID}
	for _, p := range c.Ports {
		switch p.Number {
		case 1:
			set.Port1 = p.PortGUID
		case 2:
			set.Port2 = p.PortGUID
		}
	}
	return set
}
