package hca

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// AssessBackup gives the verdict on taking a backup of a card. It reads and
// never writes. Errors are those of the host and *NoCardError.
func (o *Ops) AssessBackup(ctx context.Context, c cards.Card) (cards.Assessment, error) {
	s, card, err := c.Read(ctx)
	if err != nil {
		return cards.Assessment{}, err
	}
	a := o.Observe(c, s, card)
	if !a.Host.Observe && a.Card.FlashKnown() && a.Host.MSTFlint.Present && !a.Host.AnyJobMayRun() {
		if err = o.VerifyFlash(ctx, c.Host, &a.Card); err != nil {
			return cards.Assessment{}, err
		}
	}
	a.Verdict = safety.Backup(safety.BackupInput{Card: a.Card, Host: a.Host})
	return a, nil
}

// TakeBackup takes a proven backup of a card and writes nothing to it: the
// flash is read twice under the host's shared lock with equal results, verified
// by the vendor's tool and by the parser, compared with the query, and synced
// to the operator's disk. Errors are *safety.RefusedError, *Error, *NoCardError,
// *backup.Error and those of the host.
func (o *Ops) TakeBackup(ctx context.Context, c cards.Card) (backup.Backup, error) {
	what := "back up firmware of card " + c.ID()
	// What is stored beside the firmware is of this moment, and of this card.
	if err := c.Confirm(ctx, what); err != nil {
		return backup.Backup{}, err
	}
	a, err := o.AssessBackup(ctx, c)
	if err != nil {
		return backup.Backup{}, err
	}
	if err = a.Permitted(what); err != nil {
		return backup.Backup{}, err
	}
	s, _, err := c.Read(ctx)
	if err != nil {
		return backup.Backup{}, err
	}
	taken, err := o.backUp(ctx, c, s, a.Card)
	if err != nil {
		return backup.Backup{}, err
	}
	now, _, again, err := o.ReadAgain(ctx, c, a)
	if err != nil {
		return backup.Backup{}, err
	}
	final := safety.Backup(safety.BackupInput{Card: again.Card, Host: again.Host, Backup: taken})
	if final.Blocked() {
		return backup.Backup{}, cards.RefuseOvertaken(c, s, now, what, a.Verdict, final)
	}
	return o.backups.Open(taken.Path)
}

// OpenBackup reads and verifies a backup by its directory. Errors are
// *backup.Error.
func (o *Ops) OpenBackup(dir string) (backup.Backup, error) { return o.backups.Open(dir) }

// NewestBackup gives the newest backup of a card that verifies.
func (o *Ops) NewestBackup(s *inventory.Snapshot, c cards.Card) (backup.Backup, error) {
	card, ok := s.Card(c.PCI)
	if !ok {
		return backup.Backup{}, &cards.NoCardError{Host: s.Host, PCI: c.PCI}
	}
	return o.backups.Newest(c.Host.Name(), card.PCI, s.Identity(card))
}
