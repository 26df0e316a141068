package hca

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Backup is a backup that was read again from the operator's disk.
type Backup struct {
	Dir    string
	Record BackupRecord
	Image  *fwimage.Image
}

// File is the path of its firmware.
func (b Backup) File() string { return BackupFile(b.Dir) }

// BackupError says why a backup cannot be relied on.
type BackupError struct {
	Dir     string
	Missing bool // it is not there; else it is not what was stored
	Err     error
}

func (e *BackupError) Error() string { return fmt.Sprintf("backup %s: %v", e.Dir, e.Err) }

// Unwrap gives the cause.
func (e *BackupError) Unwrap() error { return e.Err }

// Open reads a backup and verifies it: the record is there, the firmware hashes
// as the record says, parses, and is the PSID and version of the record. Errors
// are *BackupError.
func (b *BackupStore) Open(dir string) (Backup, error) {
	dir = b.locate(dir)
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return Backup{}, &BackupError{Dir: dir, Missing: errors.Is(err, fs.ErrNotExist), Err: err}
	}
	out := Backup{Dir: dir}
	if err = json.Unmarshal(text, &out.Record); err != nil {
		return Backup{}, &BackupError{Dir: dir, Err: fmt.Errorf("%s: %w", recordFile, err)}
	}
	img, sum, size, err := ReadBackup(BackupFile(dir))
	if err != nil {
		return Backup{}, &BackupError{Dir: dir, Missing: errors.Is(err, fs.ErrNotExist), Err: err}
	}
	out.Image = img
	r := out.Record
	switch {
	case sum != r.SHA256 || size != r.Size:
		err = fmt.Errorf("%s has SHA-256 %s and %d bytes; stored were %s and %d", firmwareFile, sum, size, r.SHA256, r.Size)
	case string(img.PSID) != r.PSID || img.FWVersion != r.FW:
		err = fmt.Errorf("%s holds %s %s; %s says %s %s", firmwareFile, img.PSID, img.FWVersion, recordFile, r.PSID, r.FW)
	}
	if err != nil {
		return Backup{}, &BackupError{Dir: dir, Err: err}
	}
	return out, nil
}

// locate finds a backup whose recorded path is that of another working
// directory or machine: below root its last three elements name it.
func (b *BackupStore) locate(dir string) string {
	if _, err := os.Stat(dir); err == nil || b.root == "" || dir == "" {
		return dir
	}
	parts := strings.FieldsFunc(filepath.ToSlash(dir), func(r rune) bool { return r == '/' })
	if len(parts) < 3 || slices.Contains(parts, "..") {
		return dir
	}
	moved := filepath.Join(append([]string{b.root}, parts[len(parts)-3:]...)...)
	if _, err := os.Stat(moved); err != nil {
		return dir
	}
	return moved
}

// Newest gives the newest backup of a card that verifies. It is an error if
// there is none, which names those that do not verify.
func (b *BackupStore) Newest(host string, card *inventory.Card) (Backup, error) {
	dirs, err := filepath.Glob(filepath.Join(globQuote(b.root), globQuote(safeName(host)), "*", "*"))
	if err != nil {
		return Backup{}, err
	}
	var best Backup
	var bad []error
	for _, dir := range dirs {
		if strings.HasPrefix(filepath.Base(dir), ".") {
			continue // was never finished
		}
		found, openErr := b.Open(dir)
		switch {
		case openErr != nil:
			bad = append(bad, openErr)
		case found.Record.otherCard(host, card) == "" && (best.Dir == "" || newer(found, best)):
			best = found
		}
	}
	if best.Dir == "" {
		return Backup{}, errors.Join(append([]error{fmt.Errorf("%s holds no valid backup of card %s/%s", b.root, host, card.PCI)}, bad...)...)
	}
	return best, nil
}

func newer(a, b Backup) bool {
	if c := a.Record.Taken.Compare(b.Record.Taken); c != 0 {
		return c > 0
	}
	return a.Dir > b.Dir
}

// globQuote makes a path mean itself in a pattern.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// otherCard says why a backup is not of a card; empty if it is. The serial
// number decides where both are known, because GUIDs and MACs can be set; else
// one of these must have stayed.
func (r BackupRecord) otherCard(host string, card *inventory.Card) string {
	switch {
	case r.Host != host || r.PCI != card.PCI:
		return fmt.Sprintf("it was read from %s/%s", r.Host, r.PCI)
	case r.SerialNumber != "" && card.SerialNumber != "":
		if r.SerialNumber != card.SerialNumber {
			return fmt.Sprintf("it was read from the card with serial number %s; this one has %s", r.SerialNumber, card.SerialNumber)
		}
		return ""
	case card.Flash == nil || sharesIdentity(r.GUIDs, card.Flash.GUIDs):
		return ""
	}
	return fmt.Sprintf("no serial number is known to compare, and none of the card's GUIDs and MACs (%s) is in it (%s)",
		describeIdentity(card.Flash.GUIDs), describeIdentity(r.GUIDs))
}

func sharesIdentity(a, b ib.GUIDSet) bool {
	mac := func(x, y ib.MAC) bool { return x == y && !x.IsZero() && !x.IsBroadcast() }
	guid := func(x, y ib.GUID) bool { return x == y && !x.IsZero() && !x.IsUnset() }
	return mac(a.MAC1, b.MAC1) || mac(a.MAC2, b.MAC2) || guid(a.Node, b.Node) || guid(a.Port1, b.Port1)
}
