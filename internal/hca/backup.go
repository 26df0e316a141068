package hca

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// backUp reads the card's firmware to the host's disk twice, has it verified
// there, brings it to the operator's machine and verifies it again. The first
// copy stays on the host, named by its hash, because a host that has lost its
// network can then still be mended from its console.
//
// What it returns is for the verdict to judge. An error means that the backup
// does not exist.
func (o *Ops) backUp(ctx context.Context, c cards.Card, s *inventory.Snapshot, facts safety.CardFacts) (*safety.BackupFacts, error) {
	o.Progress(ctx, "Backing up the firmware of card "+c.ID())
	dir := fmt.Sprintf("%s/backups/%s-%s", inventory.StateDir, c.FileName(), newSuffix())
	first, second := dir+"/first.bin", dir+"/second.bin"
	if _, err := c.Host.Run(ctx, makeBackupDir(dir)); err != nil {
		return nil, o.backupFailed(c, "the directory for it cannot be made on the host", err)
	}
	defer o.removeQuietly(ctx, c, dir)
	for _, path := range []string{first, second} {
		if err := o.readImage(ctx, c, path); err != nil {
			return nil, o.backupFailed(c, "reading the flash failed", err)
		}
	}
	sums, err := o.hashes(ctx, c, first, second)
	if err != nil {
		return nil, o.backupFailed(c, "hashing the copies on the host failed", err)
	}
	facts1 := &safety.BackupFacts{TwoReadsEqual: sums[0] == sums[1]}
	if !facts1.TwoReadsEqual {
		return facts1, nil
	}
	if facts1.ToolVerified, err = o.verifyFile(ctx, c, first, facts.InFlash().BlankGUIDs); err != nil {
		return nil, o.backupFailed(c, "verifying the copy on the host failed", err)
	}
	return o.bringHome(ctx, c, s, facts, first, sums[0], facts1)
}

// bringHome stores the copy on the operator's machine.
func (o *Ops) bringHome(ctx context.Context, c cards.Card, s *inventory.Snapshot, facts safety.CardFacts, path, sum string, b *safety.BackupFacts) (*safety.BackupFacts, error) {
	query := ""
	if r, err := o.Shared(ctx, c.Host, c.PCI, mstflint.Query(c.PCI, true)); err == nil {
		query = string(r.Stdout)
	}
	dir, img, err := o.backups.Save(o.record(c, s, facts, query), func(w io.Writer) (string, error) {
		_, got, err := c.Host.Download(ctx, path, w)
		if err == nil && got != sum {
			err = fmt.Errorf("the copy on the host changed: SHA-256 was %s and is %s", sum, got)
		}
		return got, err
	})
	if err != nil {
		return nil, o.backupFailed(c, "storing it on this machine failed", err)
	}
	b.Path, b.SHA256, b.Parsed = dir, sum, true
	b.PSID, b.FW, b.GUIDs = img.PSID, img.FWVersion, identityIn(img)
	if img.Format != fwimage.FS2 {
		b.Layout = safety.FlashLayout{Slot: img.Chunk, Version: img.DeviceLayout}
	}
	if _, err := c.Host.Run(ctx, keepBackup(path, fmt.Sprintf("%s/backups/%s.bin", inventory.StateDir, sum))); err != nil {
		return nil, o.backupFailed(c, "keeping the copy on the host failed", err)
	}
	return b, nil
}

func (o *Ops) record(c cards.Card, s *inventory.Snapshot, facts safety.CardFacts, query string) backup.Record {
	r := backup.Record{
		Host: c.Host.Name(), PCI: c.PCI, Chip: facts.Chip.Name, PSID: facts.InFlash().PSID, FW: facts.InFlash().FW,
		RunningPSID: facts.RunningPSID, GUIDs: facts.InFlash().GUIDs, VSD: facts.InFlash().VSD, Query: query,
		ToolVersion: s.MSTFlint.Version, Operator: o.Operator,
	}
	if facts.RunningKnown {
		r.RunningFW = facts.RunningFW.String()
	}
	if card, ok := s.Card(c.PCI); ok {
		r.PartNumber, r.SerialNumber = card.PartNumber, card.Serial.Or("")
		if card.Flash != nil {
			r.ROM = card.Flash.ROM
		}
	}
	return r
}

func (o *Ops) readImage(ctx context.Context, c cards.Card, path string) error {
	cmd, err := mstflint.ReadImage(c.PCI, path)
	if err != nil {
		return err
	}
	_, err = o.Shared(ctx, c.Host, c.PCI, cmd)
	return err
}

// hashes gives the SHA-256 of files on the host.
func (o *Ops) hashes(ctx context.Context, c cards.Card, paths ...string) ([]string, error) {
	r, err := c.Host.Run(ctx, hashFiles(paths...))
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(string(r.Stdout))
	var sums []string
	for i := 0; i+1 < len(lines); i += 2 {
		sums = append(sums, strings.ToLower(strings.TrimPrefix(lines[i], `\`)))
	}
	if len(sums) != len(paths) || len(sums[0]) != 64 {
		return nil, &host.OutputError{Host: c.Host.Name(), Command: hashFiles(paths...).String(), Problem: fmt.Sprintf("want %d lines of a hash and a path", len(paths)), Output: string(r.Stdout)}
	}
	return sums, nil
}

// verifyFile has the tool verify an image file on the host. A card that never
// had GUIDs gives an image that the tool calls not bootable for that alone.
func (o *Ops) verifyFile(ctx context.Context, c cards.Card, path string, blank bool) (bool, error) {
	cmd, err := mstflint.VerifyImage(path)
	if err != nil {
		return false, err
	}
	r, err := c.Host.Run(ctx, cmd)
	out := string(r.Stdout)
	status, exit := cards.Exit(err)
	if exit != nil {
		out = exit.Stdout
	} else if err != nil {
		return false, err
	}
	v, err := mstflint.ParseVerify(out)
	if err != nil {
		return false, &host.OutputError{Host: c.Host.Name(), Command: cmd.String(), Problem: err.Error(), Output: out}
	}
	return v.OK && status == 0 || blank && v.OnlyBlankGUIDs(), nil
}

func (o *Ops) backupFailed(c cards.Card, what string, err error) error {
	var busy *cards.InUseError
	if errors.As(err, &busy) {
		return busy.Refusal("back up the firmware of card " + c.ID())
	}
	e := &cards.Error{
		Summary: "Unable to back up the firmware of card " + c.ID(),
		What:    "Before anything is written, the present firmware is read and stored: " + what + ".",
		Means:   "Nothing was written to the card.",
		Check:   cards.TransferAdvice(err, "Look for space and permissions: on the host below "+inventory.StateDir+", on this machine in backup_dir."),
		Facts:   []cards.Fact{{"Host", c.Host.Name()}, {"Card", c.PCI.String()}, {"Backup directory", o.BackupDir}},
		Err:     err,
	}
	return e.WithExit()
}

// removeQuietly removes the working directory of a backup. Failing to do so
// harms nothing: the directory is never used again.
func (o *Ops) removeQuietly(ctx context.Context, c cards.Card, dir string) {
	_, err := c.Host.Run(context.WithoutCancel(ctx), removeDir(dir))
	var lost *host.UnreachableError
	if err != nil && !errors.As(err, &lost) {
		o.Progress(ctx, fmt.Sprintf("Left %s on %s: %v", dir, c.Host.Name(), err))
	}
}

func removeDir(dir string) shellcmd.Command {
	return shellcmd.New("rm", "-rf", "--", dir).AsRoot().Changes()
}

func hashFiles(paths ...string) shellcmd.Command {
	return shellcmd.New("sha256sum", append([]string{"--"}, paths...)...).AsRoot()
}

func makeBackupDir(dir string) shellcmd.Command {
	return shellcmd.Script("make-backup-directory", `umask 077; mkdir -p "${1%/*}" && mkdir "$1"`, dir).AsRoot().Changes()
}

// keepBackup gives a copy its lasting name; equal content has an equal name.
func keepBackup(from, to string) shellcmd.Command {
	return shellcmd.Script("keep-backup", `chmod 600 "$1" && sync "$1" && mv -f "$1" "$2" && sync "${2%/*}"`, from, to).AsRoot().Changes()
}

// newSuffix makes names unique among operators.
func newSuffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (Go 1.24 and later)
	return hex.EncodeToString(b[:])
}
