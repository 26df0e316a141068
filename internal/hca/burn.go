package hca

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// ApplyFirmware has the card hold the image and, if asked, run it. It converges
// from whatever it finds: a job of an earlier run is waited for and settled
// first, a card that has the image is not burned again, and a card that has it
// but does not run it is only activated.
//
// The state is what was read back; it is also returned, as far as it is known,
// beside an error, with what was done in Did. Errors are *safety.RefusedError,
// *Error, *NoCardError and those of the host.
func (o *Ops) ApplyFirmware(ctx context.Context, f Firmware) (FirmwareState, error) {
	var did []string
	if err := o.mayAdopt(ctx, f.Card, "burn firmware on card "+f.Card.ID()); err != nil {
		return FirmwareState{}, err
	}
	adopted, err := o.Adopt(ctx, f.Card)
	did = append(did, adopted...)
	if err != nil {
		return FirmwareState{Did: did}, err
	}
	f.Compare = true
	a, err := o.AssessFirmware(ctx, f)
	if err != nil {
		return FirmwareState{Did: did}, err
	}
	if a.Verdict.Blocked() {
		return FirmwareState{Did: did}, &safety.RefusedError{What: "burn firmware on card " + f.Card.ID(), Findings: a.Verdict.Findings}
	}
	state := FirmwareState{Did: did}
	gave, err := o.giveBack(ctx, f, &state.Did)
	if err == nil && gave {
		a, err = o.assessAgain(ctx, f)
	}
	if err != nil {
		return state, err
	}
	if a.Verdict.Action == safety.ActionBurn {
		if err := o.burn(ctx, f, a, &state); err != nil {
			return state, err
		}
	}
	g := firmwareGoal(f.Card, a.Verdict.To, f.Request.ManagementPath, state.BackupPath)
	if err := o.makeRun(ctx, f.Card, a.Verdict.Activation, g, &state.Did); err != nil {
		return state, err
	}
	return o.readBackFirmware(ctx, f.Card, state)
}

// assessAgain gives the verdict after the identity of the card has changed.
func (o *Ops) assessAgain(ctx context.Context, f Firmware) (Assessment, error) {
	a, err := o.AssessFirmware(ctx, f)
	if err == nil && a.Verdict.Blocked() {
		err = &safety.RefusedError{What: "burn firmware on card " + f.Card.ID(), Findings: a.Verdict.Findings}
	}
	return a, err
}

func (o *Ops) readBackFirmware(ctx context.Context, c Card, state FirmwareState) (FirmwareState, error) {
	s, err := c.Host.Snapshot(ctx)
	if err != nil {
		return state, err
	}
	now, err := ReadFirmware(s, c.PCI)
	if err != nil {
		return state, err
	}
	now.BackupPath, now.Did = state.BackupPath, state.Did
	return now, nil
}

// burn writes the image: backup, last verdict, job, verification.
func (o *Ops) burn(ctx context.Context, f Firmware, planned Assessment, state *FirmwareState) error {
	before, _, err := snapshotCard(ctx, f.Card)
	if err != nil {
		return err
	}
	if err = o.stagedForBurn(ctx, f); err != nil {
		return err
	}
	backup, err := o.backUp(ctx, f.Card, before, planned.Card)
	if err != nil {
		return err
	}
	s, card, now, err := o.lookAgain(ctx, f.Card, planned)
	if err != nil {
		return err
	}
	final := safety.Firmware(safety.FirmwareInput{
		Card: now.Card, Image: f.Image, Host: now.Host, Lab: f.Lab, Request: f.Request, Restore: f.Restore, Backup: backup,
	})
	if !final.Permits(safety.ActionBurn, f.Card.ID()) || !final.Equal(planned.Verdict) {
		return overtaken(f.Card, before, s, "burn firmware on card "+f.Card.ID(), planned.Verdict, final)
	}
	state.BackupPath = backup.Path
	state.Did = append(state.Did, fmt.Sprintf("Backed up %s %s of card %s to %s.", planned.Card.PSID, planned.Card.FW, f.Card.ID(), backup.Path))
	j, err := o.burnJob(f, final, s, card)
	if err != nil {
		return err
	}
	j.SetBackup(backup.Path)
	j.SetOwner(o.me.machine, o.me.process)
	if f.Restore != nil {
		j.SetRestore()
	}
	state.JobID = j.ID
	out, err := o.run(ctx, f.Card, j)
	if err != nil {
		return withBackup(err, backup.Path)
	}
	done, err := o.conclude(ctx, f.Card, out, expectation{
		kind: journal.Burn, flash: final.To, before: final.From, guids: planned.Card.GUIDs, blank: planned.Card.BlankGUIDs,
		checksum: f.Image.Checksum, ownROM: f.Image.HasROM || !planned.Card.HasROM,
	})
	state.Did = append(state.Did, done...)
	return withBackup(err, backup.Path)
}

// burnJob builds the job of a burn; only a verdict that permits it gives one.
func (o *Ops) burnJob(f Firmware, v safety.Verdict, s *inventory.Snapshot, card *inventory.Card) (journal.Request, error) {
	if !v.Permits(safety.ActionBurn, f.Card.ID()) {
		return journal.Request{}, &safety.RefusedError{What: "burn firmware on card " + f.Card.ID(), Findings: v.Findings}
	}
	path := ImagePath(f.Image.SHA256)
	cmd, err := mstflint.Burn(f.Card.PCI, path, mstflint.BurnOptions{AllowPSIDChange: v.From.PSID != v.To.PSID, Answers: len(v.Answers)})
	if err != nil {
		return journal.Request{}, fmt.Errorf("build the burn of %s: %w", f.Card.ID(), err)
	}
	j := o.newJob(journal.Burn, f.Card, s, card)
	j.SetImage(path, f.Image.SHA256, v.To, f.Image.Checksum)
	j.SetCommand(cmd.Argv(), v.Answers)
	return j, nil
}

// stagedForBurn makes sure that the image is on the host with its content; the
// job hashes it again under the lock.
func (o *Ops) stagedForBurn(ctx context.Context, f Firmware) error {
	path := ImagePath(f.Image.SHA256)
	sums, err := o.hashes(ctx, f.Card, path)
	if err == nil && sums[0] == f.Image.SHA256 {
		return nil
	}
	if _, exit := exitOf(err); err != nil && exit == nil {
		return err
	}
	e := &Error{
		Summary: "Unable to burn firmware on card " + f.Card.ID(),
		What:    "The image is not on the host, or not with the content it is named after.",
		Means:   "Nothing was written to the card.",
		Check:   "Apply the infiniband_firmware_image resource of this host again; it stages the image.",
		Facts:   []Fact{{"Host", f.Card.Host.Name()}, {"File", path}, {"SHA-256 wanted", f.Image.SHA256}},
		Err:     err,
	}
	if err == nil {
		e.Facts = append(e.Facts, Fact{"SHA-256 found", sums[0]})
	}
	return e
}

// backupPlace stands for the directory of the backup until withBackup knows it.
const backupPlace = "<backup>"

// withBackup adds the path of the backup to an error about the card it is of.
func withBackup(err error, path string) error {
	var e *Error
	if errors.As(err, &e) && path != "" {
		e.Facts = append(e.Facts, Fact{"Backup", path})
		e.Check = strings.ReplaceAll(e.Check, backupPlace, path)
	}
	return err
}

// ApplyGUIDs programs GUIDs and MACs and, if asked, has them take effect. It
// converges like ApplyFirmware, with the same errors.
func (o *Ops) ApplyGUIDs(ctx context.Context, g GUIDs) (GUIDState, error) {
	var state GUIDState
	if err := o.mayAdopt(ctx, g.Card, "set GUIDs of card "+g.Card.ID()); err != nil {
		return state, err
	}
	adopted, err := o.Adopt(ctx, g.Card)
	state.Did = append(state.Did, adopted...)
	if err != nil {
		return state, err
	}
	a, err := o.AssessGUIDs(ctx, g)
	if err != nil {
		return state, err
	}
	if a.Verdict.Blocked() {
		return state, &safety.RefusedError{What: "set GUIDs of card " + g.Card.ID(), Findings: a.Verdict.Findings}
	}
	if changed := g.Kept.changed(a.Card.GUIDs); changed != "" && a.Card.FlashKnown {
		return state, &safety.RefusedError{What: "set GUIDs of card " + g.Card.ID(), Findings: []finding.Finding{finding.ChangedSincePlan.Find("Card %s: %s.", g.Card.ID(), changed)}}
	}
	if a.Verdict.Action == safety.ActionSetGUIDs {
		if err := o.programGUIDs(ctx, g, a, &state); err != nil {
			return state, err
		}
	}
	target := guidGoal(g.Card, a.Verdict, g.Request.ManagementPath, state.BackupPath)
	if err := o.makeRun(ctx, g.Card, a.Verdict.Activation, target, &state.Did); err != nil {
		return state, err
	}
	return o.readBackGUIDs(ctx, g.Card, state)
}

func (o *Ops) readBackGUIDs(ctx context.Context, c Card, state GUIDState) (GUIDState, error) {
	s, err := c.Host.Snapshot(ctx)
	if err != nil {
		return state, err
	}
	now, err := ReadGUIDs(s, c.PCI)
	if err != nil {
		return state, err
	}
	now.BackupPath, now.Did = state.BackupPath, state.Did
	return now, nil
}

// programGUIDs takes the same care as a burn: on FS2 it burns the image in
// flash again.
func (o *Ops) programGUIDs(ctx context.Context, g GUIDs, planned Assessment, state *GUIDState) error {
	before, _, err := snapshotCard(ctx, g.Card)
	if err != nil {
		return err
	}
	backup, err := o.backUp(ctx, g.Card, before, planned.Card)
	if err != nil {
		return err
	}
	s, card, now, err := o.lookAgain(ctx, g.Card, planned)
	if err != nil {
		return err
	}
	final := safety.GUIDs(safety.GUIDInput{Card: now.Card, Host: now.Host, Lab: g.Lab, Request: g.Request, Backup: backup})
	if !final.Permits(safety.ActionSetGUIDs, g.Card.ID()) || !final.Equal(planned.Verdict) {
		return overtaken(g.Card, before, s, "set GUIDs of card "+g.Card.ID(), planned.Verdict, final)
	}
	state.BackupPath = backup.Path
	state.Did = append(state.Did, fmt.Sprintf("Backed up %s %s of card %s to %s.", planned.Card.PSID, planned.Card.FW, g.Card.ID(), backup.Path))
	j, err := o.guidJob(g.Card, final.GUIDs, final.Answers, s, card)
	if err != nil {
		return err
	}
	j.SetOwner(o.me.machine, o.me.process)
	state.JobID = j.ID
	out, err := o.run(ctx, g.Card, j)
	if err != nil {
		return withBackup(err, backup.Path)
	}
	done, err := o.conclude(ctx, g.Card, out, expectation{
		kind: journal.GUIDs, flash: final.To, before: final.From, guids: final.GUIDs, oldGUIDs: planned.Card.GUIDs,
		checksum: planned.Card.Checksum, ownROM: true,
	})
	state.Did = append(state.Did, done...)
	return withBackup(err, backup.Path)
}

func (o *Ops) guidJob(c Card, set ib.GUIDSet, answers []safety.Question, s *inventory.Snapshot, card *inventory.Card) (journal.Request, error) {
	cmd, err := mstflint.SetGUIDs(c.PCI, set, len(answers))
	if err != nil {
		return journal.Request{}, fmt.Errorf("build the command that sets the GUIDs of %s: %w", c.ID(), err)
	}
	j := o.newJob(journal.GUIDs, c, s, card)
	j.SetGUIDs(set)
	j.SetCommand(cmd.Argv(), answers)
	return j, nil
}
