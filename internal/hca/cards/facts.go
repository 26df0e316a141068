package cards

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
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

// ClosesJobs reports whether an apply closes a job of an earlier run.
func (a Assessment) ClosesJobs() bool { return journal.AnyCloses(a.Jobs) }

// Judge asks for the verdict. If the verdict leads to a restart, it has the flash
// verified first, unless an inspection has done so: only a restart loads what is in
// flash.
func (o *Session) Judge(ctx context.Context, h host.Host, a *Assessment,
	judge func(safety.CardFacts) safety.Verdict) error {
	a.Verdict = judge(a.Card)
	asked := a.Card.Verified != safety.VerifyUnknown || a.Card.VerifyError != ""
	restarts := func(f finding.Finding) bool { return f.Rule == finding.RestartIntoDamagedFlash }
	if asked || !slices.ContainsFunc(a.Verdict.Findings, restarts) {
		return nil
	}
	err := o.VerifyFlash(ctx, h, &a.Card)
	a.Verdict = judge(a.Card)
	return err
}

// Observe gives the facts for a verdict on a card, as the snapshot has them.
func (o *Session) Observe(c Card, s *inventory.Snapshot, card *inventory.Card) Assessment {
	return Assessment{Card: c.Facts(s, card), Host: o.hostFacts(c, s), Jobs: journal.PendingJobs(s, c.PCI)}
}

// Facts gives the facts of the card, with its identity now and as recorded.
func (c Card) Facts(s *inventory.Snapshot, card *inventory.Card) safety.CardFacts {
	f := CardFacts(s, card)
	f.Identity = c.Compare(s, card)
	return f
}

// Compare compares the card in the slot with the recorded one; card is nil for an empty
// slot. If they differ, it looks for the recorded card in the other slots of the host.
func (c Card) Compare(s *inventory.Snapshot, card *inventory.Card) safety.IdentityFacts {
	f := safety.IdentityFacts{Recorded: c.Recorded, Elsewhere: c.Elsewhere, Edit: c.Edit}
	if card != nil {
		f.Now, f.Unread = s.Identity(card), card.Serial.Why()
	}
	if f.Elsewhere != "" || f.Same() {
		return f
	}
	if pci, ok := s.Find(c.Recorded); ok && pci.Slot() != c.PCI.Slot() {
		f.Elsewhere = pci.String()
	}
	return f
}

// Confirm reads the host anew and refuses unless the card in the slot is the recorded
// one. It is the last step before a write.
func (c Card) Confirm(ctx context.Context, what string) error {
	c.Host.Invalidate()
	s, card, err := c.Read(ctx)
	var gone *NoCardError
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	f := c.Compare(s, card)
	if f.Same() || card == nil && f.Elsewhere == "" {
		return err
	}
	return &safety.RefusedError{What: what, Findings: safety.Identity(c.PCI.String()+" of "+c.Host.Name(), f)}
}

// CardFacts gives the facts of a card without an inspection.
func CardFacts(s *inventory.Snapshot, c *inventory.Card) safety.CardFacts {
	f := safety.CardFacts{Host: s.Host, Card: *c, Running: fact.Unknown[ib.Firmware]("no driver shows it")}
	started := c.Flash != nil && !c.Livefish
	var burned bool
	if started {
		f.StagedBy, f.StartedWith, burned = lastBurn(s, c)
		f.JobChecksum = leftBy(s, c, cmp.Or(f.StagedBy, f.StartedWith))
	}
	if c.RunningPSID != "" {
		if v, err := ib.ParseFWVersion(c.RunningFW); err == nil {
			f.Running = fact.Known(ib.Firmware{PSID: c.RunningPSID, FW: v})
		}
	} else if started {
		assumeRunning(&f, c, burned)
	}
	f.GUIDsBy, f.Writes = guidsBy(s, c), writes(s, c)
	return f
}

// writes gives what jobs for this very card found in flash and wrote of GUIDs and MACs.
func writes(s *inventory.Snapshot, c *inventory.Card) (all []safety.IdentityWrite) {
	now := s.Identity(c)
	for _, j := range journal.JobsOf(s, c) {
		e := journal.Read(j)
		if like, _ := ib.Compare(e.Card, now); like == ib.Same {
			all = append(all, safety.IdentityWrite{Before: e.GUIDsBefore, After: e.GUIDsAfter})
		}
	}
	return all
}

// guidsBy gives the job that wrote the node GUID in flash since the host started; empty if
// none did.
func guidsBy(s *inventory.Snapshot, c *inventory.Card) (by string) {
	if c.Flash == nil {
		return ""
	}
	for _, j := range journal.JobsOf(s, c) {
		if j.Kind == journal.GUIDs && j.BootID == s.BootID && journal.Read(j).GUIDsAfter.Node == c.Flash.GUIDs.Node {
			by = j.ID
		}
	}
	return by
}

// assumeRunning infers what a card runs if no RDMA device shows its PSID: mlx4_ib is
// not loaded, the firmware is Ethernet-only, or there is no driver. mstflint (4.21)
// asks the card for the running version, and prints it if flash has another one: the
// image in flash has not run then. If it prints none and a driver has started the card,
// both versions are equal, and the PSID is taken from flash. One case stays: a burn of
// the same version under another PSID. So an image that was burned successfully since
// the host started counts as not running.
func assumeRunning(f *safety.CardFacts, c *inventory.Card, burned bool) {
	assumed := f.Driver != "" && f.Driver == c.Chip.Driver && c.Flash.ImageType == "FS2" // vfio-pci starts no firmware
	if v := c.Flash.RunningFW; !v.IsZero() && v != c.Flash.FW {
		// The PSID in flash is not that of what runs: somebody may have burned another one.
		f.Running = fact.Known(ib.Firmware{FW: v})
		return
	}
	if assumed && !burned {
		f.Running, f.RunningAssumed = fact.Known(c.Flash.Firmware), true
	}
}

// lastBurn gives the last job that burned the card, if the flash still holds what it
// wrote: stagedBy if that was since the host started, startedWith if before. It also
// reports whether the card was burned since the host started.
func lastBurn(s *inventory.Snapshot, c *inventory.Card) (stagedBy, startedWith string, now bool) {
	by := ""
	for _, j := range journal.JobsOf(s, c) {
		if j.Kind != journal.Burn {
			continue
		}
		if j.BootID == s.BootID && !now {
			by, now = "", true
		}
		e := journal.Read(j)
		wrote := j.Exit == "0" && e.After == c.Flash.Firmware
		like, _ := ib.Compare(e.Card, s.Identity(c))
		switch {
		case wrote && (now || like == ib.Same):
			by = j.ID
		case !now:
			by = ""
		}
	}
	if now {
		return by, "", true
	}
	return "", by, false
}

// leftBy is the checksum of the content that a job left in flash; empty if it is not known.
func leftBy(s *inventory.Snapshot, c *inventory.Card, id string) string {
	for _, j := range journal.JobsOf(s, c) {
		if id != "" && j.ID == id {
			return journal.Read(j).Checksum
		}
	}
	return ""
}

// hostFacts gives the facts of the card's host, including the configuration and the
// operator's machine.
func (o *Session) hostFacts(c Card, s *inventory.Snapshot) safety.HostFacts {
	return safety.HostFacts{
		Snapshot: *s, Support: platform.SupportOf(s, c.PCI), Observe: c.Host.Observe(), RebootAllowed: c.RebootAllowed,
		BackupDir: o.BackupDir, BackupProblem: backupProblem(o.BackupDir),
	}
}

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
		if !g.flash.IsZero() && !g.flash.IsUnset() || g.shown.IsZero() {
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
