package record

import (
	"errors"
	"fmt"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/backup"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// flash is what a card has in flash, byte by byte.
type flash struct {
	card string // PCI address
	data []byte
}

// flashes are those of a host's cards, each from the newest backup, where that holds the firmware that is in flash
// now. The error names the cards that have no such backup.
func flashes(s *inventory.Snapshot, dir string) (all []flash, err error) {
	store := backup.NewStore(cards.New(cards.Config{BackupDir: dir}))
	var missing []error
	for i := range s.Cards {
		c := &s.Cards[i]
		if c.Virtual || c.PCI.Function() != 0 || c.Flash == nil && c.FlashFailure == "" {
			continue
		}
		found, bad := cards.LookAt(s, c.PCI)
		var kept backup.Backup
		if bad == nil {
			kept, bad = store.Newest(found)
		}
		if now := c.InFlash(); bad == nil && (kept.Image.PSID != now.PSID || kept.Image.FWVersion != now.FW) {
			bad = errors.Join(append([]error{fmt.Errorf("%s holds %s %s, and the flash of card %s something else", kept.Dir,
				kept.Image.PSID, kept.Image.FWVersion, c.PCI)}, kept.Passed...)...)
		}
		var data []byte
		if bad == nil {
			data, bad = os.ReadFile(kept.File())
		}
		if bad != nil {
			missing = append(missing, bad)
			continue
		}
		all = append(all, flash{c.PCI.String(), data})
	}
	return all, errors.Join(missing...)
}
