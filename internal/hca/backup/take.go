package backup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Assess gives the verdict on taking a backup of a card. It reads and
// never writes. Errors are those of the host and *NoCardError.
func (b *Store) Assess(ctx context.Context, c cards.Card) (cards.Assessment, error) {
	l, err := c.Look(ctx)
	if err != nil {
		return cards.Assessment{}, err
	}
	a := b.s.Assess(c, l)
	a.Card.Flash = l.Card.ReadFlash()
	// To verify is to read all of the flash, which beside a job can disturb its burn (mstflint 4.21).
	if !a.Host.Observe && a.Card.FlashKnown() && a.Host.MSTFlint.Present && !a.Host.AnyJobMayRun() {
		if err = b.s.VerifyFlash(ctx, c.Host, &a.Card); err != nil {
			return cards.Assessment{}, err
		}
	}
	a.Verdict = safety.Backup(safety.BackupInput{Card: a.Card, Host: a.Host})
	return a, nil
}

// Take takes a proven backup of a card. It reads the flash twice under the host's
// shared lock, has the vendor's tool and the parser verify it, compares it with the
// query, and syncs it to the operator's disk. It writes nothing to the card. Errors are
// *safety.RefusedError, *Error, *NoCardError and those of the host.
func (b *Store) Take(ctx context.Context, c cards.Card) (Backup, error) {
	what := "back up firmware of card " + c.ID()
	// card.json must be of this moment and of this card.
	if _, err := c.Confirm(ctx, what); err != nil {
		return Backup{}, err
	}
	a, err := b.Assess(ctx, c)
	if err != nil {
		return Backup{}, err
	}
	if err = a.Verdict.Refusal(what); err != nil {
		return Backup{}, err
	}
	before, err := c.Look(ctx)
	if err != nil {
		return Backup{}, err
	}
	taken, err := b.Keep(ctx, c, before, a.Card)
	if err != nil {
		return Backup{}, err
	}
	now, again, err := b.s.ReadAgain(ctx, c, a)
	if err != nil {
		return Backup{}, err
	}
	// Judged again after the reads: what was read twice is of use only if nobody has written in between.
	final := safety.Backup(safety.BackupInput{Card: again.Card, Host: again.Host, Backup: taken})
	if final.Blocked() {
		return Backup{}, cards.RefuseOvertaken(c, before, now, what, a.Verdict, final)
	}
	// From the disk, as a restore will open it.
	return b.Open(taken.Path)
}

// Keep reads the card's firmware to the host's disk twice, has it verified there,
// copies it to the operator's machine and verifies it again. The first copy stays on
// the host under its hash: a host that has lost its network can still be repaired from
// its console. Of a card whose flash nobody can read it keeps the rollback image in its place.
//
// The verdict judges what it returns; a copy that is not proven is not kept, and has no path. An
// error means that there is no backup.
func (b *Store) Keep(ctx context.Context, c cards.Card, l *cards.Look,
	facts safety.CardFacts) (*safety.BackupFacts, error) {
	b.s.Progress(ctx, "Backing up the firmware of card "+c.ID())
	b.s.Tell(c, journal.Step{Name: "backup", Percent: journal.Unknown})
	dir := fmt.Sprintf("%s/backups/%s-%s", inventory.StateDir, c.FileName(), newSuffix())
	first, second := dir+"/first.bin", dir+"/second.bin"
	if _, err := c.Host.Run(ctx, makeBackupDir(dir)); err != nil {
		return nil, b.newError(c, "the directory for it cannot be made on the host", err)
	}
	// The working copies go whatever happens. keepBackup has moved the first one out by then.
	defer b.removeQuietly(ctx, c, dir)
	// Two reads: the tool checks nothing of what it reads here, and ends with 0 (4.21). A byte that came wrong
	// from the bus does not come wrong twice.
	for _, path := range []string{first, second} {
		if err := b.readImage(ctx, c, facts.Rollback, path); err != nil {
			return nil, b.newError(c, "reading the flash failed", err)
		}
	}
	sums, err := image.Hashes(ctx, c.Host, first, second)
	if err != nil {
		return nil, b.newError(c, "hashing the copies on the host failed", err)
	}
	kept := &safety.BackupFacts{TwoReadsEqual: sums[0] == sums[1]}
	if !kept.TwoReadsEqual {
		return kept, nil
	}
	// Then the parser here is the only one that verifies it.
	if !l.Snap.MSTFlint.Present {
		return b.bringHome(ctx, c, l, facts, first, sums[0], kept)
	}
	if kept.ToolVerified, err = image.Verify(ctx, c.Host, first, facts.InFlash().BlankGUIDs); err != nil {
		return nil, b.newError(c, "verifying the copy on the host failed", err)
	}
	return b.bringHome(ctx, c, l, facts, first, sums[0], kept)
}

// bringHome copies the backup to the operator's machine.
func (b *Store) bringHome(ctx context.Context, c cards.Card, l *cards.Look, facts safety.CardFacts, path,
	sum string, kept *safety.BackupFacts) (*safety.BackupFacts, error) {
	query := ""
	if !facts.ByDriver() {
		// For a person who reads card.json; nothing depends on it.
		if r, err := b.s.RunShared(ctx, c.Host, c.PCI, mstflint.Query(c.PCI, true)); err == nil {
			query = string(r.Stdout)
		}
	}
	dir, img, err := b.save(b.record(l, facts, query), func(w io.Writer) (string, error) {
		_, got, err := c.Host.Download(ctx, path, w)
		if err == nil && got != sum {
			err = fmt.Errorf("the copy on the host changed: SHA-256 was %s and is %s", sum, got)
		}
		return got, err
	})
	if err != nil {
		return nil, b.newError(c, "storing it on this machine failed", err)
	}
	kept.Path, kept.SHA256, kept.Parsed = dir, sum, true
	kept.PSID, kept.FW, kept.GUIDs = img.PSID, img.FWVersion, image.Identity(img)
	if img.Format != fwimage.FS2 {
		kept.Layout = safety.FlashLayout{Slot: img.Chunk, Version: img.DeviceLayout}
	}
	// After it was stored, because it is the stored copy that is judged.
	if len(safety.BackupDoubts(facts, kept)) > 0 {
		kept.Path = "" // its card.json would call it the card's, and a person burns from it
		return kept, os.RemoveAll(dir)
	}
	// Only now: the copy on the host is for its console, the operator's is the one that counts.
	if _, err := c.Host.Run(ctx, keepBackup(path, sum, l.Jobs.OldCopies(l.Snap))); err != nil {
		return nil, b.newError(c, "keeping the copy on the host failed", err)
	}
	return kept, nil
}

func (b *Store) record(l *cards.Look, facts safety.CardFacts, query string) Record {
	r := Record{
		Host: l.Snap.Host, PCI: l.Card.PCI, Chip: facts.Chip.Name, PSID: facts.InFlash().PSID, FW: facts.InFlash().FW,
		GUIDs: facts.InFlash().GUIDs, VSD: facts.InFlash().VSD, Query: query,
		ToolVersion: l.Snap.MSTFlint.Version, Operator: b.s.Operator,
	}
	if running, known := facts.Running.Get(); known {
		r.RunningPSID, r.RunningFW = running.PSID, running.FW.String()
	}
	if facts.Rollback != nil {
		r.Kind = kindFingerprint
	}
	r.PartNumber, r.SerialNumber, r.ROM = l.Card.PartNumber, l.Card.Serial.Or(""), l.Card.InFlash().ROM
	return r
}

func (b *Store) readImage(ctx context.Context, c cards.Card, rollback *safety.ImageFacts, path string) error {
	if rollback != nil {
		_, err := c.Host.Run(ctx, shellcmd.New("cp", "--", image.Path(rollback.SHA256), path).AsRoot().Changes())
		return err
	}
	cmd, err := mstflint.ReadImage(c.PCI, path)
	if err != nil {
		return err
	}
	// The shared lock lets other readers in and keeps a burn of ours out.
	_, err = b.s.RunShared(ctx, c.Host, c.PCI, cmd)
	return err
}

func (b *Store) newError(c cards.Card, what string, err error) error {
	var busy *cards.InUseError
	if errors.As(err, &busy) {
		return busy.Refusal("back up the firmware of card " + c.ID())
	}
	e := &cards.Error{
		Summary: "Unable to back up the firmware of card " + c.ID(),
		What:    "The backup of the present firmware failed: " + what + ".",
		Means:   "Nothing was written to the card.",
		Check: cards.TransferAdvice(err,
			"Check free space and permissions, on the host below "+inventory.StateDir+" and on this machine in backup_dir."),
		Facts: []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Backup directory", b.s.BackupDir}},
		Err:   err,
	}
	return cards.WithExit(e)
}

// removeQuietly removes the working directory of a backup. A failure is harmless: no
// later run uses the directory.
func (b *Store) removeQuietly(ctx context.Context, c cards.Card, dir string) {
	_, err := c.Host.Run(context.WithoutCancel(ctx), removeDir(dir))
	var lost *host.UnreachableError
	if err != nil && !errors.As(err, &lost) {
		b.s.Progress(ctx, fmt.Sprintf("Left %s on %s: %v", dir, c.Host.Name(), err))
	}
}

func removeDir(dir string) shellcmd.Command {
	return shellcmd.New("rm", "-rf", "--", dir).AsRoot().Changes()
}

func makeBackupDir(dir string) shellcmd.Command {
	return shellcmd.Script("make-backup-directory", `umask 077; mkdir -p "${1%/*}" && mkdir "$1"`, dir).AsRoot().Changes()
}

// keepBackup names the copy by its hash, so that equal content is stored once. It removes old copies.
func keepBackup(from, sum string, old []string) shellcmd.Command {
	args := []string{from, inventory.BackupFile(sum)}
	for _, other := range old {
		if other != sum {
			args = append(args, inventory.BackupFile(other))
		}
	}
	// sync before mv: a power cut between them must not leave a good name on an empty file. The old copies go
	// last, so that one is always there.
	return shellcmd.Script("keep-backup", `chmod 600 "$1" && sync "$1" && mv -f "$1" "$2" && sync "${2%/*}" || exit 1
shift 2
[ $# = 0 ] || rm -f -- "$@"`, args...).AsRoot().Changes()
}

// newSuffix makes names unique among operators.
func newSuffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (Go 1.24 and later)
	return hex.EncodeToString(b[:])
}
