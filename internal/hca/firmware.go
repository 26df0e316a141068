package hca

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Firmware asks for an image on a card.
type Firmware struct {
	Card    Card
	Image   safety.ImageFacts // from ImageFacts
	Request safety.FirmwareRequest
	Lab     safety.LabFacts
	// Compare has the content of the flash compared with the image even if PSID
	// and version are equal. That reads the whole flash, so a caller asks for
	// it when the resource is created or its image changes, and not on every
	// plan.
	Compare bool
	// Restore is set if the image is a backup that goes back; see Restore.
	Restore *safety.RestoreFacts
}

// FirmwareState is what was read back about a card's firmware.
type FirmwareState struct {
	Flash        safety.Flash
	Running      safety.Flash // zero PSID: not known
	RunningKnown bool
	GUIDs        ib.GUIDSet
	// Pending says that the flash holds other firmware than what runs.
	Pending bool
	// BackupPath is the directory on the operator's machine with the firmware
	// that this run replaced; empty if it replaced none.
	BackupPath string
	// JobBackup is the directory with what the last burn replaced, as the
	// host's journal names it: a run that was interrupted left no other note.
	// Empty if the flash is not what that burn wrote, or if it was a restore.
	JobBackup string
	// JobID is the job that wrote the flash in this run, or the last one that
	// did; empty if none is recorded.
	JobID string
	// Restored says that the last burn gave the flash back what it had before, and
	// that the card does not run it yet: a destroy was interrupted.
	Restored bool
	// Did are sentences on what was done in this run, in order.
	Did []string
}

// Assessment is a verdict with the facts that it rests on.
type Assessment struct {
	Verdict safety.Verdict
	Card    safety.CardFacts
	Host    safety.HostFacts
	Jobs    []journal.Report // jobs of this card that are not settled
}

// AssessFirmware gives the verdict on an image for a card. It reads and never
// writes; plan and apply both call it. Errors are those of the host and
// *NoCardError.
func (o *Ops) AssessFirmware(ctx context.Context, f Firmware) (Assessment, error) {
	s, card, err := snapshotCard(ctx, f.Card)
	if err != nil {
		return Assessment{}, err
	}
	a := Assessment{Card: f.Card.facts(s, card), Host: o.hostFacts(f.Card, s), Jobs: journal.Pending(s, f.Card.PCI)}
	in := safety.FirmwareInput{Card: a.Card, Image: f.Image, Host: a.Host, Lab: f.Lab, Request: f.Request, Restore: f.Restore}
	if o.worthInspecting(a, f) {
		if err := o.inspect(ctx, f.Card.Host, &in.Card); err != nil {
			return Assessment{}, err
		}
		a.Card = in.Card
	}
	a.Verdict = safety.Firmware(in)
	return a, nil
}

// worthInspecting says whether the long look at the card can change anything:
// not if the card cannot be worked on, while a job is writing to it, or if it
// already has the image.
func (o *Ops) worthInspecting(a Assessment, f Firmware) bool {
	if a.Host.Observe || !a.Card.FlashKnown || f.Image.Problem != safety.ImageOK || !a.Host.MSTFlint.Present || a.Host.AnyJobMayRun() {
		return false
	}
	return f.Compare || !safety.Holds(a.Card, f.Image)
}

// ReadFirmware gives the state of a card's firmware from a snapshot.
func ReadFirmware(s *inventory.Snapshot, pci ib.PCIAddress) (FirmwareState, error) {
	card, ok := s.Card(pci)
	if !ok {
		return FirmwareState{}, &NoCardError{Host: s.Host, PCI: pci}
	}
	return firmwareState(s, card), nil
}

func firmwareState(s *inventory.Snapshot, card *inventory.Card) FirmwareState {
	facts := cardFacts(s, card)
	state := FirmwareState{
		Flash:        safety.Flash{PSID: ib.PSID(facts.PSID), FW: facts.FW},
		Running:      safety.Flash{PSID: ib.PSID(facts.RunningPSID), FW: facts.RunningFW},
		RunningKnown: facts.RunningKnown, GUIDs: facts.GUIDs,
	}
	state.Pending = facts.FlashKnown && facts.RunningKnown && state.Flash != state.Running
	for _, j := range s.JobsOf(card.PCI) {
		if j.Kind == journal.Burn {
			state.JobID = j.ID
			state.Restored = state.Pending && journal.RestoredTo(j, state.Flash)
		}
	}
	state.JobBackup = journal.BackupOf(s.JobsOf(card.PCI), state.Flash)
	return state
}
