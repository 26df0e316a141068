package hca

import (
	"context"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/activation"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/job"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/hostcheck"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Firmware asks for an image on a card.
type Firmware struct {
	Card    cards.Card
	Image   safety.ImageFacts // from image.Facts
	Request safety.FirmwareRequest
	Lab     clash.Facts
	// Stops gives the marks of failed burns of other cards that hold for this one, by the present
	// snapshot of its host; nil: none do.
	Stops func(*inventory.Snapshot) []inventory.Stop
	// Unapproved is the list of approved images that lacks this one; empty: it may be burned.
	Unapproved string
	// Compare compares the content of the flash with the image also if PSID and version
	// are equal. That reads the whole flash, so callers set it only when the resource is
	// created or its image changes.
	Compare bool
	// Planned is what the plan has announced; nil: it could not say.
	Planned *Announced
	// Rollback is the declared image of what a card has whose flash nobody can read; nil: none.
	Rollback *safety.ImageFacts
	// Restore is set if the image is a backup that goes back; see Restore.
	Restore *safety.RestoreFacts
	packed  journal.Package // where only the driver of the card reaches it
}

// FirmwareState is what was read back about a card's firmware.
type FirmwareState struct {
	Flash   ib.Firmware
	Running fact.Of[ib.Firmware]
	GUIDs   ib.GUIDSet
	BootROM string // as bootrom.Text has it; empty: the tool has not read the flash
	// Pending says that the flash holds other firmware than what runs: a driver or the tool
	// shows it, or a job wrote the flash since the host started.
	Pending bool
	// JobBackup is the directory of the backup that the last burn made, as the host's
	// journal names it. After an interrupted run this is the only record. It is empty if
	// the flash is not what that burn wrote, or if the burn was a restore. JobBefore is the
	// firmware in it.
	JobBackup string
	JobBefore ib.Firmware
	// LastBurn is the request of the last burn of the card; zero if the journal has none.
	LastBurn journal.Entry
	// Backups are the backups that jobs of the card name in the journal of its host: the
	// SHA-256 of the firmware by the directory.
	Backups map[string]string
	Work
	// Restored says that the last burn restored the former firmware and that the card
	// does not run it yet: a destroy was interrupted.
	Restored bool
}

// Announced is what the plan of a burn has shown. The apply does no more than that.
type Announced struct {
	Burns, Restarts bool
	// From is what was in flash, "MT_… 2.40.7000"; empty if the plan does not say it.
	From string
}

// allows refuses a verdict that goes beyond what was announced; nil allows all. again says what to
// do then.
func (p *Announced) allows(what string, v safety.Verdict, again string) error {
	var plan string
	from, to := fmt.Sprint(v.From.PSID, " ", v.From.FW), fmt.Sprint(v.To.PSID, " ", v.To.FW)
	burns := v.Action == safety.ActionBurn
	switch {
	case p == nil:
		return nil
	case burns && !p.Burns:
		plan = "The plan was to write nothing, because the flash held " + to + ". Now it holds " + from + "."
	case burns && p.From != "" && p.From != from:
		plan = "The plan was to change " + p.From + " -> " + to + ". Now the flash holds " + from + "."
	case v.Activation == safety.ActivationReboot && !p.Restarts:
		plan = "The plan was not to restart the host. Now the card does not run what its flash holds, " + to + "."
	default:
		return nil
	}
	return &safety.RefusedError{What: what,
		Findings: []finding.Finding{finding.ChangedSincePlan.Find("%s Nothing was written. %s", plan, again)}}
}

// AssessFirmware gives the verdict on an image for a card. It reads and never
// writes; plan and apply both call it. Errors are those of the host and
// *NoCardError.
func (o *Ops) AssessFirmware(ctx context.Context, f Firmware) (cards.Assessment, error) {
	l, err := f.Card.Look(ctx)
	if err != nil {
		return cards.Assessment{}, err
	}
	a := o.Assess(f.Card, l)
	if a.Card.WithoutCopy() {
		a.Card.Rollback = f.Rollback
	}
	// The driver shows no chip id; the firmware itself compares it before it takes an image.
	if a.Card.ByDriver() {
		a.Card.HWID = fact.Known(a.Card.Chip.Silicon(f.Image.HWIDs))
	}
	if worthInspecting(a, f) {
		if err = o.Inspect(ctx, f.Card.Host, &a.Card); err != nil {
			return cards.Assessment{}, err
		}
	}
	err = o.Judge(ctx, f.Card.Host, &a, func(card safety.CardFacts) safety.Verdict {
		a.Card = card
		return f.verdict(a, nil)
	})
	return a, err
}

// worthInspecting reports whether an inspection can change the verdict. It cannot if
// the card cannot be worked on, if a job is writing to it, or if it already has the
// image.
func worthInspecting(a cards.Assessment, f Firmware) bool {
	if a.Host.Observe || !a.Card.FlashKnown() || f.Image.Problem != safety.ImageOK || !a.Host.MSTFlint.Present ||
		a.Host.AnyJobMayRun() {
		return false
	}
	return f.Compare || !safety.Holds(a.Card, f.Image)
}

// ApplyFirmware writes the image into flash and, if asked, makes the card run it. It
// converges from any state: it waits for a job of an earlier run and settles it, does
// not burn an image that is there, and only activates one that does not run yet.
//
// The state is what was read back. It comes also with an error, as far as it is known;
// Did says what was done. Errors are *safety.RefusedError, *Error, *NoCardError and
// those of the host.
func (o *Ops) ApplyFirmware(ctx context.Context, f Firmware) (FirmwareState, error) {
	// An apply always compares contents: one version under one PSID may be two builds.
	f.Compare = true
	var state FirmwareState
	assess := func(ctx context.Context) (cards.Assessment, error) { return o.AssessFirmware(ctx, f) }
	a, err := job.Begin(ctx, o.Session, f.Card, f.what(), &state.Did, assess)
	if err != nil {
		return state, err
	}
	// Before the burn: a second one would take the card as it is for what it was.
	wrote, err := o.writeBackLoss(ctx, f, &state.Did)
	if err == nil && wrote {
		if a, err = assess(ctx); err == nil {
			err = a.Verdict.Refusal(f.what())
		}
	}
	if err != nil {
		return state, err
	}
	// After earlier jobs were settled: what they wrote is part of what the plan has announced.
	if err = f.Planned.allows(f.what(), a.Verdict, "Plan again."); err != nil {
		return state, err
	}
	if a.Verdict.Action == safety.ActionBurn {
		if err = o.burn(ctx, f, a, &state.Work); err != nil {
			return state, err
		}
	}
	if err = o.activate(ctx, f.Card, a.Verdict.Activation, firmwareGoal(f.Card, a.Verdict.To, f.Request.ManagementPath),
		&state.Work); err != nil {
		return state, err
	}
	l, err := f.Card.Look(ctx)
	if err != nil {
		return state, err
	}
	now := ReadFirmware(l)
	now.BackupPath, now.Did = state.BackupPath, state.Did
	return now, nil
}

// burn writes the image.
func (o *Ops) burn(ctx context.Context, f Firmware, a cards.Assessment, work *Work) error {
	// Before the backup, which takes minutes, and again by the job.
	err := f.imageStaged(ctx)
	if err == nil && a.Card.ByDriver() {
		f.packed, err = image.StagePackage(ctx, f.Card.Host, f.Image.SHA256)
	}
	if err != nil {
		return err
	}
	err = o.write(ctx, f, a, work)
	if err == nil && a.Card.Rollback != nil {
		work.Did = append(work.Did, "The backup is a fingerprint: the rollback image, and no copy of the flash.")
	}
	return err
}

// writeBackLoss writes the identity that a burn of an earlier run took from the card, as the
// plan has announced. It makes all checks of a change of GUIDs. It reports whether it
// wrote.
func (o *Ops) writeBackLoss(ctx context.Context, f Firmware, did *[]string) (bool, error) {
	l, err := f.Card.Look(ctx)
	if err != nil || l.Loss == nil {
		return false, err
	}
	// The GUIDs are the card's own. The fabric knew them as this card's until the burn,
	// so it is not asked again.
	lab := f.Lab
	lab.Fabric = fact.Known[[]clash.Node](nil)
	g := GUIDs{Card: f.Card, Lab: lab, Request: safety.GUIDRequest{
		Want: l.Loss.Before, HasGUIDs: l.Loss.GUIDs, HasMACs: l.Loss.MACs, ManagementPath: f.Request.ManagementPath,
		Activation: safety.ActivationNone,
	}}
	a, err := o.AssessGUIDs(ctx, g)
	if err == nil {
		err = a.Verdict.Refusal("write back the identity of card " + f.Card.ID())
	}
	if err != nil {
		return false, err
	}
	var work Work
	if err = o.write(ctx, g, a, &work); err != nil {
		return false, err
	}
	*did = append(append(*did, work.Did...),
		"Wrote back what job "+l.Loss.Job+" had taken from card "+f.Card.ID()+": "+a.Verdict.GUIDs.Text()+".")
	return true, job.Settle(ctx, f.Card, l.Loss.Job, "its loss was written back by job "+work.JobID)
}

func (f Firmware) card() cards.Card      { return f.Card }
func (f Firmware) what() string          { return "burn firmware on card " + f.Card.ID() }
func (f Firmware) action() safety.Action { return safety.ActionBurn }

func (f Firmware) verdict(a cards.Assessment, backup *safety.BackupFacts) safety.Verdict {
	in := safety.FirmwareInput{
		Card: a.Card, Image: f.Image, Host: a.Host, Lab: f.Lab, Request: f.Request, Restore: f.Restore, Backup: backup,
	}
	if f.Stops != nil {
		in.Found = hostcheck.Stopped(f.Stops(&a.Host.Snapshot), f.Request.AfterFailure)
	}
	if f.Unapproved != "" {
		in.Found = append(in.Found, finding.ImageNotApproved.Find("%s is not in %s", f.Image.SHA256, f.Unapproved))
	}
	return safety.Firmware(in)
}

func (f Firmware) entry(v safety.Verdict, before safety.CardFacts) (journal.Entry, error) {
	path := image.Path(f.Image.SHA256)
	cmd, err := mstflint.Burn(f.Card.PCI,
		path, mstflint.BurnOptions{AllowPSIDChange: v.From.PSID != v.To.PSID, ImageROM: v.ROM.Named,
			Answers: len(v.Answers)})
	if err != nil {
		return journal.Entry{}, fmt.Errorf("build the burn of %s: %w", f.Card.ID(), err)
	}
	if before.ByDriver() {
		return journal.Entry{Kind: journal.Burn, After: v.To, Restore: f.Restore != nil, Package: f.packed,
			Image: journal.Image{Path: path, SHA256: f.Image.SHA256, Checksum: f.Image.Checksum},
			Argv:  image.SendPackage(f.Card.PCI, f.Image.SHA256).Argv()}, nil
	}
	e := journal.Entry{
		Kind: journal.Burn, After: v.To, Image: journal.Image{Path: path, SHA256: f.Image.SHA256, Checksum: f.Image.Checksum},
		Restore: f.Restore != nil, Argv: cmd.Argv(), Answers: v.Answers,
	}
	if !v.ROM.Kept && !before.Secure() { // of a secure card nobody reads the content
		e.Checksum = f.Image.Checksum
	}
	return e, nil
}

// imageStaged makes sure that the image is on the host with the right content. The job
// hashes it again under the lock.
func (f Firmware) imageStaged(ctx context.Context) error {
	path := image.Path(f.Image.SHA256)
	sums, err := image.Hashes(ctx, f.Card.Host, path)
	if err == nil && sums[0] == f.Image.SHA256 {
		return nil
	}
	if _, exit := cards.Exit(err); err != nil && exit == nil {
		return err
	}
	e := &cards.Error{
		Summary: "Unable to burn firmware on card " + f.Card.ID(),
		What:    "The image is not on the host, or not with the content it is named after.",
		Means:   "Nothing was written to the card.",
		Check:   "Apply the infiniband_firmware_image resource of this host again; it stages the image.",
		Facts:   []cards.Fact{{"Host", f.Card.Host.Name()}, {"File", path}, {"SHA-256 wanted", f.Image.SHA256}},
		Err:     err,
	}
	if err == nil {
		e.Facts = append(e.Facts, cards.Fact{"SHA-256 found", sums[0]})
	}
	return e
}

// ReadFirmware gives the state of a card's firmware from a look.
func ReadFirmware(l *cards.Look) FirmwareState {
	own := l.Jobs.Own()
	state := FirmwareState{
		Flash:   l.Card.InFlash().Firmware,
		Running: l.Facts.Running, GUIDs: l.Card.InFlash().GUIDs, Backups: map[string]string{},
	}
	if flash := l.Card.ReadFlash(); flash != nil {
		state.BootROM = bootrom.Text(flash.ROM)
	}
	running, known := state.Running.Get()
	// Where nothing shows what runs, only a job of this boot says that something else is in flash.
	state.Pending = l.Card.FlashKnown() && (known && state.Flash != running || !known && l.Facts.StagedBy != "")
	for _, j := range own {
		if j.Entry.BackupSHA256 != "" {
			state.Backups[j.Entry.Backup] = j.Entry.BackupSHA256
		}
	}
	last := own.Last(journal.Burn)
	state.JobID, state.LastBurn = last.ID, last
	state.Restored = state.Pending && last.Restore && last.After == state.Flash
	state.JobBackup, state.JobBefore = own.Backup(state.Flash)
	return state
}

func firmwareGoal(c cards.Card, want ib.Firmware, consent []string) activation.Goal {
	return activation.Goal{
		Consent: consent, Title: "Firmware of card " + c.ID() + " is burned",
		Content: want.PSID.String() + " " + want.FW.String(), Text: want.PSID.String() + " " + want.FW.String(),
		Loads: func(flash inventory.Flash) bool { return flash.Firmware == want },
		Reached: func(l *cards.Look) (bool, bool) {
			running, known := l.Facts.Running.Get()
			return running == want, known
		},
	}
}
