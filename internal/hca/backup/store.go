package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// Store keeps what is read from cards in a directory on the operator's
// machine: HOST/CARD/TIME/firmware.bin and card.json. It overwrites nothing.
type Store struct{ s *cards.Session }

// NewStore returns the store of a session. Its directory need not exist yet. Without a
// directory the store refuses everything.
func NewStore(s *cards.Session) *Store { return &Store{s: s} }

// Record is card.json: what is known of the card besides its firmware.
type Record struct {
	Version      int           `json:"version"`
	Taken        time.Time     `json:"taken"`
	Host         string        `json:"host"`
	PCI          ib.PCIAddress `json:"pci_address"`
	PartNumber   string        `json:"part_number,omitempty"`
	SerialNumber string        `json:"serial_number,omitempty"`
	Chip         string        `json:"chip"`
	PSID         ib.PSID       `json:"psid"`
	FW           ib.FWVersion  `json:"firmware_version"`
	RunningPSID  ib.PSID       `json:"running_psid,omitempty"`
	RunningFW    string        `json:"running_firmware_version,omitempty"`
	GUIDs        ib.GUIDSet    `json:"identity"`
	VSD          string        `json:"vsd,omitempty"`
	ROM          []string      `json:"rom,omitempty"`
	Query        string        `json:"query_output,omitempty"`
	ToolVersion  string        `json:"mstflint_version,omitempty"`
	Operator     string        `json:"operator,omitempty"`
	SHA256       string        `json:"firmware_sha256"`
	Size         int64         `json:"firmware_size"`
	Kind         string        `json:"kind,omitempty"` // empty: what was read from the flash
}

// kindFingerprint is the kind of a record whose firmware is an image that agrees with all that the
// card said of itself, because nobody can read the flash of that card.
const kindFingerprint = "fingerprint"

// Fingerprint reports whether the firmware was declared, and not read from the flash.
func (r Record) Fingerprint() bool { return r.Kind == kindFingerprint }

const (
	firmwareFile = "firmware.bin"
	recordFile   = "card.json"

	recordVersion = 1
)

// cardDir names the card by host, slot and what stays with the card.
func (r Record) cardDir() string {
	// An Ethernet card has no GUID (all ones), but MACs.
	id := r.GUIDs.Node.Hex()
	if r.GUIDs.Node.IsNone() {
		id = r.GUIDs.MAC1.Hex()
	}
	return safeName(r.PCI.String()) + "-" + id
}

// safeName keeps only characters that every file system allows.
func safeName(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		case c == '.':
			return c
		}
		return '-'
	}, strings.TrimLeft(s, "."))
}

// save stores firmware, which fetch writes, with its record, and gives the directory.
// After it both files are on the disk (fsync of files and directories), were read
// again, have the hash that fetch gave, and the firmware parses. It overwrites nothing.
func (b *Store) save(record Record, fetch func(io.Writer) (sha string, err error)) (string, *fwimage.Image, error) {
	if b.s.BackupDir == "" {
		return "", nil, errors.New("no backup_dir is configured")
	}
	record.Version, record.Taken = recordVersion, b.s.Now().UTC()
	parent := filepath.Join(b.s.BackupDir, safeName(record.Host), record.cardDir())
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", nil, err
	}
	// In the same directory as the backup will be, so that publish is one rename within a file system. Newest
	// leaves out what begins with a dot.
	temp, err := os.MkdirTemp(parent, ".incomplete-")
	if err != nil {
		return "", nil, err
	}
	img, err := b.fill(temp, &record, fetch)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(temp))
	}
	dir, err := publish(temp, parent, record.Taken)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(temp))
	}
	return dir, img, nil
}

// publish renames the finished directory to its time. os.Rename refuses to replace a
// directory that is not empty, so a second backup in the same second gets a number.
func publish(temp, parent string, taken time.Time) (string, error) {
	for n := range 100 {
		name := taken.Format("20060102T150405Z")
		if n > 0 {
			name += fmt.Sprintf("-%d", n)
		}
		dir := filepath.Join(parent, name)
		if _, err := os.Lstat(dir); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := os.Rename(temp, dir); err != nil {
			return "", err
		}
		// The new name is on the disk before anything is burned: a power cut must not leave a burned card and a
		// directory without its backup.
		return dir, syncDir(parent)
	}
	return "", fmt.Errorf("%s holds a hundred backups of one second", parent)
}

func (b *Store) fill(dir string, record *Record, fetch func(io.Writer) (string, error)) (*fwimage.Image, error) {
	path := filepath.Join(dir, firmwareFile)
	var said string
	err := b.writeFile(path, func(w io.Writer) error {
		var err error
		said, err = fetch(w)
		return err
	})
	if err != nil {
		return nil, err
	}
	img, sum, size, err := readFirmware(path)
	if err != nil {
		return nil, err
	}
	// What the disk gives back now, against what the host has hashed: network, memory and disk between are
	// all in the comparison.
	if sum != said {
		return nil, fmt.Errorf("%s has SHA-256 %s on this machine and %s on the host", path, sum, said)
	}
	// The record is written after the firmware: a directory with a record has its firmware.
	record.SHA256, record.Size = sum, size
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return nil, err
	}
	err = b.writeFile(filepath.Join(dir, recordFile), func(w io.Writer) error {
		_, writeErr := w.Write(append(text, '\n'))
		return writeErr
	})
	if err != nil {
		return nil, err
	}
	return img, syncDir(dir)
}

// readFirmware reads a firmware file from the disk, verifies it, and gives its
// SHA-256 and size in bytes.
func readFirmware(path string) (img *fwimage.Image, sum string, size int64, err error) {
	data, err := readFile(path)
	if err != nil {
		return nil, "", 0, err
	}
	digest := sha256.Sum256(data)
	img, err = fwimage.Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, "", 0, fmt.Errorf("%s: %w", path, err)
	}
	return img, hex.EncodeToString(digest[:]), int64(len(data)), nil
}

// largestFile is more than any flash of these cards holds.
const largestFile = 64 << 20

// readFile reads a file of a backup. A pipe in its place would never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > largestFile:
		return nil, fmt.Errorf("%s has %d MiB, more than any backup", path, info.Size()>>20)
	}
	return os.ReadFile(path)
}

func (b *Store) writeFile(path string, write func(io.Writer) error) error {
	f, err := b.s.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	// Before the close, which does not wait for the disk.
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// syncDir writes the names in a directory to the disk. Windows cannot sync directories,
// and keeps their order itself.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
