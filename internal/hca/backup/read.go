package backup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Backup is a backup that was read again from the operator's disk.
type Backup struct {
	Dir    string
	Record Record
	Image  *fwimage.Image
	Passed []error // see Newest
}

// File is the path of its firmware.
func (b Backup) File() string { return firmwarePath(b.Dir) }

func firmwarePath(dir string) string { return filepath.Join(dir, firmwareFile) }

// Other says why the backup is not of the card that is in the slot now; empty if it is.
func (b Backup) Other(l *cards.Look) string {
	return b.Record.otherCard(l.Snap.Host+"/"+l.Card.PCI.String(), l.Who)
}

// Error says why a backup cannot be relied on.
type Error struct {
	Dir     string
	Missing bool // the backup is missing; else it is not what was stored
	Err     error
}

func (e *Error) Error() string { return fmt.Sprintf("backup %s: %v", e.Dir, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Check says why there is no folder of backups; without one each card looks as if it had none.
func (b *Store) Check() error {
	info, err := os.Stat(b.s.BackupDir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", b.s.BackupDir)
	}
	return err
}

// Open reads and verifies a backup: the record is there, the firmware has the recorded
// hash, parses, and has the recorded PSID and version. Errors are *Error.
// All of it each time: between a backup and the day it is needed lie disks, copies and people.
func (b *Store) Open(dir string) (Backup, error) {
	recorded := dir
	if dir = b.locate(dir); dir == "" {
		return Backup{}, &Error{Dir: recorded, Missing: true, Err: fmt.Errorf("%q is no folder of a backup below "+
			"backup_dir", recorded)}
	}
	text, err := readFile(filepath.Join(dir, recordFile))
	if err != nil {
		return Backup{}, &Error{Dir: dir, Missing: errors.Is(err, fs.ErrNotExist), Err: err}
	}
	out := Backup{Dir: dir}
	// The text of the parser names types of this program.
	// A version above ours may mean other things by the same words.
	if json.Unmarshal(text, &out.Record) != nil || out.Record.Version != recordVersion || out.Record.SHA256 == "" {
		return Backup{}, &Error{Dir: dir, Err: fmt.Errorf("%s is damaged, or was not written by this provider: it does not "+
			"say which firmware is beside it", recordFile)}
	}
	img, sum, size, err := readFirmware(firmwarePath(dir))
	if err != nil {
		return Backup{}, &Error{Dir: dir, Missing: errors.Is(err, fs.ErrNotExist), Err: err}
	}
	out.Image = img
	r := out.Record
	switch {
	case sum != r.SHA256 || size != r.Size:
		err = fmt.Errorf("%s has SHA-256 %s and %d bytes; stored were %s and %d", firmwareFile, sum, size, r.SHA256, r.Size)
	// The hash says that it is the same file; this says that it is the file of this record.
	case img.PSID != r.PSID || img.FWVersion != r.FW:
		err = fmt.Errorf("%s holds %s %s; %s says %s %s", firmwareFile, img.PSID, img.FWVersion, recordFile, r.PSID, r.FW)
	}
	if err != nil {
		return Backup{}, &Error{Dir: dir, Err: err}
	}
	return out, nil
}

// Place is the folder in which a backup is looked for, of which only the recorded path is known.
func (b *Store) Place(recorded string) string { return cmp.Or(b.locate(recorded), recorded) }

// locate finds a backup below backup_dir by the last three elements of its path: HOST/CARD/TIME.
// The path may be of another machine or working directory, or of the journal of a host, and no
// host says which files of this machine are opened.
func (b *Store) locate(dir string) string {
	parts := strings.FieldsFunc(filepath.ToSlash(dir), func(r rune) bool { return r == '/' })
	last := parts[max(0, len(parts)-3):]
	if len(last) < 3 || slices.Contains(last, "..") || b.s.BackupDir == "" {
		return ""
	}
	return filepath.Join(append([]string{b.s.BackupDir}, last...)...)
}

// Newest gives the newest backup of a card that verifies. Those of the host that do not verify are in Passed, or in
// the error if none does.
func (b *Store) Newest(l *cards.Look) (Backup, error) {
	dirs, err := filepath.Glob(filepath.Join(globQuote(b.s.BackupDir), globQuote(safeName(l.Snap.Host)), "*", "*"))
	if err != nil {
		return Backup{}, err
	}
	var best Backup
	var bad []error
	for _, dir := range dirs {
		if strings.HasPrefix(filepath.Base(dir), ".") {
			continue // a backup that was never finished
		}
		found, openErr := b.Open(dir)
		switch {
		case openErr != nil:
			bad = append(bad, openErr)
		// One that was declared is no copy of a flash.
		case found.Other(l) == "" && !found.Record.Fingerprint() && (best.Dir == "" || newer(found, best)):
			best = found
		}
	}
	best.Passed = bad
	if best.Dir == "" {
		none := fmt.Errorf("%s holds no valid backup of card %s/%s", b.s.BackupDir, l.Snap.Host, l.Card.PCI)
		return Backup{}, errors.Join(append([]error{none}, bad...)...)
	}
	return best, nil
}

func newer(a, b Backup) bool {
	if c := a.Record.Taken.Compare(b.Record.Taken); c != 0 {
		return c > 0
	}
	// Two of one second: the one with a number came later.
	return a.Dir > b.Dir
}

// globQuote makes a path mean itself in a pattern.
func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// otherCard says why a backup is not of the card that is in its slot now; empty if it
// is. If there is nothing to compare, the slot decides.
func (r Record) otherCard(place string, now ib.Identity) string {
	from := fmt.Sprintf("%s/%s", r.Host, r.PCI)
	who := ib.Identity{
		Serial: r.SerialNumber, Part: r.PartNumber, Chip: r.Chip,
		MACs: []ib.MAC{r.GUIDs.MAC1, r.GUIDs.MAC2}, GUIDs: []ib.GUID{r.GUIDs.Node, r.GUIDs.Port1, r.GUIDs.Port2},
	}
	switch like, why := ib.Compare(who, now); {
	// A serial number counts within a part number only.
	case like == ib.Same, who.Serial != "" && who.Serial == now.Serial && who.Part == now.Part && who.Chip == now.Chip:
		return "" // it may have got new addresses since; who it is now, the verdict decides
	case who.Serial != "" && now.Serial != "" && who.Serial != now.Serial:
		return fmt.Sprintf("it was read from %s, from the card with serial number %s; this one has %s", from, who.Serial,
			now.Serial)
	case like == ib.Other || from != place:
		return fmt.Sprintf("it was read from %s, and %s", from, why)
	}
	return ""
}
