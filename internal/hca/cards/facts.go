package cards

import (
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
)

// Assessment is a verdict with the facts that it rests on.
type Assessment struct {
	Verdict safety.Verdict
	Card    safety.CardFacts
	Host    safety.HostFacts
	Jobs    []journal.Report // jobs of this card that are not settled
}

// Judge gives the assessment its verdict. Only a restart loads what is in flash: the
// flash is verified for one, if no inspection has done so, and not for a plan
// without one.
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

// Observe gives the facts that a verdict on a card rests on, as they were read.
func (o *Session) Observe(c Card, s *inventory.Snapshot, card *inventory.Card) Assessment {
	return Assessment{Card: c.Facts(s, card), Host: o.hostFacts(c, s), Jobs: journal.PendingJobs(s, c.PCI)}
}

// Facts are those of the card with who it is and who it was.
func (c Card) Facts(s *inventory.Snapshot, card *inventory.Card) safety.CardFacts {
	f := CardFacts(s, card)
	f.Identity = c.Compare(s, card)
	return f
}

// Compare gives who the card in the slot is; card is nil for an empty one. A card
// that is not the recorded one is looked for in the other slots of the host.
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

// Confirm reads the host anew and refuses if the card in the slot is not the
// recorded one. A write comes right behind it.
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

// CardFacts are those of a card without an inspection.
func CardFacts(s *inventory.Snapshot, c *inventory.Card) safety.CardFacts {
	f := safety.CardFacts{Host: s.Host, Card: *c, Running: fact.Unknown[ib.Firmware]("no driver shows it")}
	if c.RunningPSID != "" {
		if v, err := ib.ParseFWVersion(c.RunningFW); err == nil {
			f.Running = fact.Known(ib.Firmware{PSID: c.RunningPSID, FW: v})
		}
	} else if c.Flash != nil && !c.Livefish {
		assumeRunning(&f, s, c)
	}
	return f
}

// assumeRunning says what a card runs whose PSID no RDMA device shows: mlx4_ib is
// not loaded, the firmware is Ethernet-only, or there is no driver at all. mstflint
// asks the card itself for the running version, and prints it if it is another than
// that in flash (4.21): the image in flash has not run then. A query without it means
// that they are equal where a driver has started the card; the PSID is taken from the
// flash then. A burn of this boot that ended well has not run either, and one of the
// same version under another PSID shows in no other way.
func assumeRunning(f *safety.CardFacts, s *inventory.Snapshot, c *inventory.Card) {
	assumed := f.Driver != "" && f.Driver == c.Chip.Driver && c.Flash.ImageType == "FS2" // vfio-pci starts no firmware
	if v := c.Flash.RunningFW; !v.IsZero() && v != c.Flash.FW {
		runs := ib.Firmware{FW: v}
		if assumed {
			runs.PSID = c.Flash.PSID
		}
		f.Running, f.RunningAssumed = fact.Known(runs), assumed
		return
	}
	last, burned := lastBurn(s, c)
	if burned {
		f.StagedBy = last
	} else {
		f.StartedWith = last
	}
	if assumed && !burned {
		f.Running, f.RunningAssumed = fact.Known(c.Flash.Firmware), true
	}
}

// lastBurn gives the last job that burned the card, if that one wrote what is in flash, and
// reports whether the card has been burned since the host started.
func lastBurn(s *inventory.Snapshot, c *inventory.Card) (by string, now bool) {
	for _, j := range s.JobsOf(c.PCI) {
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
	return by, now
}

// hostFacts are those of the card's host, with what the configuration and this
// machine say.
func (o *Session) hostFacts(c Card, s *inventory.Snapshot) safety.HostFacts {
	return safety.HostFacts{
		Snapshot: *s, Support: platform.SupportOf(s, c.PCI), Observe: c.Host.Observe(), RebootAllowed: c.RebootAllowed,
		BackupDir: o.BackupDir, BackupProblem: backupProblem(o.BackupDir),
	}
}

// Identities are those of all cards of a host.
func Identities(s *inventory.Snapshot) []safety.CardIdentity {
	all := make([]safety.CardIdentity, 0, len(s.Cards))
	for i := range s.Cards {
		if c := &s.Cards[i]; !c.Virtual {
			all = append(all, safety.CardIdentity{Host: s.Host, PCI: c.PCI, GUIDs: identityOf(c)})
		}
	}
	return all
}

// identityOf takes the flash first: it is what the card will have after its
// next start. A card whose flash cannot be read still has what the driver shows.
func identityOf(c *inventory.Card) ib.GUIDSet {
	if c.Flash != nil {
		return c.Flash.GUIDs
	}
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
