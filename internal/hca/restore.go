package hca

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// Restore asks for the firmware that a card had before: the one in a backup.
type Restore struct {
	Card   cards.Card
	Backup string // its directory on the operator's machine
	SHA256 string // of the firmware that was put there, as the state has it; empty: not known
	// Left is the firmware that the resource wrote; the restore replaces no other one.
	Left           ib.Firmware
	Activation     safety.Activation
	ManagementPath []string // consent, as of a burn
	Lab            clash.Facts
	// Declared is the SHA-256 of the rollback image that the state names; empty: none. Burned is the
	// image that is in flash, as the copy on the host; nil if it is gone. A card with secure firmware
	// needs both.
	Declared string
	Burned   *safety.ImageFacts
	// NoWrite says that the plan announced no write, because the card had its old
	// firmware.
	NoWrite bool
}

// AssessRestore gives the verdict on burning a backup back. It reads and never
// writes. Errors are those of the host and *NoCardError; what is wrong with the
// backup is in the findings.
func (o *Ops) AssessRestore(ctx context.Context, r Restore) (cards.Assessment, error) {
	f, _, err := o.restoreRequest(ctx, r)
	if err != nil {
		return cards.Assessment{}, err
	}
	return o.AssessFirmware(ctx, f)
}

// restoreRequest makes the request for firmware that a restore is, with the backup
// that it is about.
func (o *Ops) restoreRequest(ctx context.Context, r Restore) (Firmware, backup.Backup, error) {
	l, err := r.Card.Look(ctx)
	if err != nil {
		return Firmware{}, backup.Backup{}, err
	}
	facts := &safety.RestoreFacts{Path: r.Backup, Left: r.Left}
	f := Firmware{Card: r.Card, Lab: r.Lab, Compare: true, Restore: facts}
	f.Request.Activation, f.Request.ManagementPath = r.Activation, r.ManagementPath
	b, err := o.Backups.Open(r.Backup)
	var bad *backup.Error
	switch {
	case err == nil:
		facts.Path, facts.Other = b.Dir, b.Other(l)
		facts.Damaged, facts.Unproven = r.compareSums(b, l.Snap.Host, ReadFirmware(l).Backups[r.Backup])
		facts.Unproven = cmp.Or(facts.Unproven, r.fingerprint(b, l.Facts.WithoutCopy()))
		f.Rollback = r.Burned
		f.Image = image.Facts(b.File(), b.Record.SHA256, "", b.Record.Size, b.Image, nil)
	case !errors.As(err, &bad):
		facts.Damaged = err.Error()
	case bad.Missing:
		facts.Path, facts.Missing = bad.Dir, bad.Err.Error()
	default:
		facts.Path, facts.Damaged = bad.Dir, bad.Err.Error()
	}
	return f, b, nil
}

// compareSums holds a backup to the SHA-256 that was noted when it was taken: beside the state,
// and by the job of the host that wrote over its firmware. Whoever replaces the firmware in a
// folder can replace the record beside it, too.
func (r Restore) compareSums(b backup.Backup, host, journal string) (damaged, unproven string) {
	for _, noted := range []string{r.SHA256, journal} {
		if noted != "" && noted != b.Record.SHA256 {
			return fmt.Sprintf("it is another backup: its firmware has SHA-256 %s instead of %s", b.Record.SHA256, noted), ""
		}
	}
	if r.SHA256 == "" && journal == "" {
		return "", fmt.Sprintf("it holds %s %s with SHA-256 %s. Whether that was put there is not known: neither the state "+
			"nor the journal of host %s has the SHA-256 of the backup", b.Image.PSID, b.Image.FWVersion, b.Record.SHA256, host)
	}
	return "", ""
}

// fingerprint says why a backup that was not read from the flash is not burned; empty: nothing is against it.
func (r Restore) fingerprint(b backup.Backup, withoutCopy bool) string {
	switch {
	case !b.Record.Fingerprint():
		return ""
	case r.Declared != b.Record.SHA256:
		return "it is the rollback image of a card whose flash nobody can read, and rollback_image_id does " +
			"not name it any more"
	case r.Burned == nil && withoutCopy:
		return "the image that was burned over it is not on the host any more, and with it the only way back from this step"
	}
	return ""
}

// RestoreFirmware burns a backup back. It does all that a burn does: a backup of what
// it replaces, a job with its journal, verification, and activation if asked. mstflint
// keeps the GUIDs and MACs that the card has now. It converges like ApplyFirmware and
// gives the same errors: it continues an interrupted restore, and does not burn a card
// that already holds the backup.
func (o *Ops) RestoreFirmware(ctx context.Context, r Restore) (FirmwareState, error) {
	var (
		state FirmwareState
		f     Firmware
		b     backup.Backup
	)
	a, err := job.Begin(ctx, o.Session, r.Card, "restore firmware of card "+r.Card.ID(), &state.Did,
		func(ctx context.Context) (a cards.Assessment, err error) {
			if f, b, err = o.restoreRequest(ctx, r); err == nil {
				a, err = o.AssessFirmware(ctx, f)
			}
			return a, err
		})
	if err != nil {
		return state, err
	}
	// A destroy has no plan that names a restart; the activation of its state allows it.
	planned := &Announced{Burns: !r.NoWrite, Restarts: true}
	if err = planned.allows("restore firmware of card "+r.Card.ID(), a.Verdict, "Destroy again."); err != nil {
		return state, err
	}
	ours := false
	if a.Verdict.Action == safety.ActionBurn {
		if ours, err = stageBackup(ctx, r.Card, b); err != nil {
			return state, err
		}
	}
	did := state.Did
	state, err = o.ApplyFirmware(ctx, f)
	state.Did = append(did, state.Did...)
	if err == nil && ours {
		// The backup itself stays on the host; this copy was for the burn alone.
		err = image.Unstage(ctx, r.Card.Host, b.Record.SHA256)
	}
	return state, err
}

// stageBackup copies the firmware of a backup to the host; ours is false if an
// image with this content was staged there before.
func stageBackup(ctx context.Context, c cards.Card, b backup.Backup) (ours bool, err error) {
	s, err := c.Host.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	file, err := os.Open(b.File())
	if err != nil {
		return false, &backup.Error{Dir: b.Dir, Missing: true, Err: err}
	}
	defer func() { _ = file.Close() }() // only read
	// Asked before it is staged: an image that another resource has put there is not ours to remove.
	return !s.Staged[b.Record.SHA256], image.Stage(ctx, c.Host, file, b.Record.Size, b.Record.SHA256)
}
