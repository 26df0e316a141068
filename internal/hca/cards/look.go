package cards

import (
	"cmp"
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Look is one card as one snapshot of its host shows it, with all that follows from that. It is
// read-only, and made once for a snapshot, however often it is asked for: a write decides on
// facts of its moment, so the snapshot is forgotten before it, and with it the look.
type Look struct {
	Snap *inventory.Snapshot
	Card *inventory.Card // nil if the address has none
	Who  ib.Identity
	Jobs journal.Jobs // that may have been for the card
	// Loss is what the last burn took from the card; nil if it took nothing.
	Loss *journal.Loss
	// Pending says how the jobs stand that nobody has settled.
	Pending []journal.Report
	// Facts are those without an inspection, and without a comparison with a recorded identity.
	Facts safety.CardFacts
}

// lookKey is the key of the look at a card.
type lookKey ib.PCIAddress

// LookAt gives the look at the card of an address. If there is none it is *NoCardError, and the
// look has nothing but the snapshot.
func LookAt(s *inventory.Snapshot, pci ib.PCIAddress) (*Look, error) {
	card, ok := s.Card(pci)
	if !ok {
		return &Look{Snap: s}, &NoCardError{Host: s.Host, PCI: pci}
	}
	return inventory.Derive(s, lookKey(pci), func() *Look { return interpret(s, card) }), nil
}

func interpret(s *inventory.Snapshot, card *inventory.Card) *Look {
	l := &Look{Snap: s, Card: card, Who: s.Identity(card)}
	l.Jobs = journal.JobsOf(s, card.PCI, l.Who)
	l.Loss = l.Jobs.Loss(card.Flash)
	l.Pending = l.Jobs.Pending().Reports(s, l.Loss)
	l.Facts = l.facts()
	return l
}

// Before is the look at the same address in an earlier snapshot; l if that has no card there.
func (l *Look) Before(s *inventory.Snapshot) *Look {
	if s == nil {
		return l
	}
	if was, err := LookAt(s, l.Card.PCI); err == nil {
		return was
	}
	return l
}

// Look reads the host, unless that is remembered, and gives the look at the card. A host
// without the card is *NoCardError, with a look that has nothing but the snapshot.
func (c Card) Look(ctx context.Context) (*Look, error) {
	s, err := c.Host.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return LookAt(s, c.PCI)
}

// facts gives the facts of the card without an inspection.
func (l *Look) facts() safety.CardFacts {
	f := safety.CardFacts{Host: l.Snap.Host, Card: *l.Card, Running: fact.Unknown[ib.Firmware]("no driver shows it")}
	// A card in recovery mode runs from its ROM, whatever the flash has.
	started := f.FlashKnown() && !f.Livefish
	var burned bool
	if started {
		by, now := l.Jobs.LastBurn(l.Snap.BootID, f.Flash.Firmware)
		switch burned = now; {
		case by == nil:
		case now:
			f.StagedBy, f.JobChecksum = by.ID, by.Entry.Checksum
		default:
			f.StartedWith, f.JobChecksum = by.ID, by.Entry.Checksum
		}
	}
	switch {
	case f.ByDriver():
		f.Running = fact.Known(ib.Firmware{PSID: f.Flash.PSID, FW: cmp.Or(f.Flash.RunningFW, f.Flash.FW)})
	// sysfs before any inference: board_id and fw_ver are what the driver has asked the firmware for.
	case f.RunningPSID != "":
		if v, err := ib.ParseFWVersion(f.RunningFW); err == nil {
			f.Running = fact.Known(ib.Firmware{PSID: f.RunningPSID, FW: v})
		}
	case started:
		assumeRunning(&f, burned)
	}
	for _, j := range l.Jobs.Own() {
		f.Writes = append(f.Writes, safety.IdentityWrite{Before: j.Entry.GUIDsBefore, After: j.Entry.GUIDsAfter})
	}
	if f.FlashKnown() {
		f.GUIDsBy = l.Jobs.NodeGUIDBy(l.Snap.BootID, f.Flash.GUIDs.Node)
	}
	return f
}

// assumeRunning infers what a card runs if no RDMA device shows its PSID: mlx4_ib is
// not loaded, the firmware is Ethernet-only, or there is no driver. mstflint (4.21)
// asks the card for the running version, and prints it if flash has another one: the
// image in flash has not run then. If it prints none and a driver has started the card,
// both versions are equal, and the PSID is taken from flash. One case stays: a burn of
// the same version under another PSID. So an image that was burned successfully since
// the host started counts as not running.
func assumeRunning(f *safety.CardFacts, burned bool) {
	assumed := f.Driver != "" && f.Driver == f.Chip.Driver && f.Flash.ImageType == "FS2" // vfio-pci starts no firmware
	if v := f.Flash.RunningFW; !v.IsZero() && v != f.Flash.FW {
		// The PSID in flash is not that of what runs: somebody may have burned another one.
		f.Running = fact.Known(ib.Firmware{FW: v})
		return
	}
	if assumed && !burned {
		f.Running, f.RunningAssumed = fact.Known(f.Flash.Firmware), true
	}
}
