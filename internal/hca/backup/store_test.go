package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/synth"
)

func firmware(t *testing.T) ([]byte, Record) {
	t.Helper()
	set := synth.Placeholder()
	set.Node = 0xe41d2d0300e44ed0
	data, err := synth.FS2(synth.Options{PSID: "MT_9090111019", Chunk: 1 << 20, GUIDs: set})
	if err != nil {
		t.Fatal(err)
	}
	return data, Record{Host: "../intel9", PCI: ib.MustParsePCIAddress("0000:01:00.0"), PSID: "MT_9090111019", GUIDs: set}
}

func TestStore_Save_never_overwrites(t *testing.T) {
	data, record := firmware(t)
	root := t.TempDir()
	at := time.Date(2026, 5, 2, 3, 4, 5, 0, time.UTC)
	kept := store(root, func() time.Time { return at })
	seen := map[string]bool{}
	for range 3 {
		dir, img, err := kept.save(record, func(w io.Writer) (string, error) {
			_, err := w.Write(data)
			return hashOf(data), err
		})
		if err != nil {
			t.Fatal(err)
		}
		if seen[dir] || !strings.HasPrefix(dir, root+string(filepath.Separator)) || img.PSID != "MT_9090111019" {
			t.Errorf("directory %s, image %s", dir, img.PSID)
		}
		seen[dir] = true
	}
	left, err := filepath.Glob(filepath.Join(root, "*", "*", ".incomplete-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestStore_Save_refuses_what_is_not_proven(t *testing.T) {
	data, record := firmware(t)
	broken := append([]byte(nil), data...)
	broken[0x100] ^= 1
	for name, fetch := range map[string]func(io.Writer) (string, error){
		"cut":        func(w io.Writer) (string, error) { _, err := w.Write(data[:len(data)/2]); return hashOf(data), err },
		"other hash": func(w io.Writer) (string, error) { _, err := w.Write(data); return hashOf(broken), err },
		"damaged":    func(w io.Writer) (string, error) { _, err := w.Write(broken); return hashOf(broken), err },
		"no answer":  func(io.Writer) (string, error) { return "", errors.New("connection lost") },
	} {
		root := t.TempDir()
		if dir, _, err := store(root, nil).save(record, fetch); err == nil {
			t.Errorf("%s: stored in %s", name, dir)
		}
		left, err := filepath.Glob(filepath.Join(root, "*", "*", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
	if _, _, err := store("", nil).save(record, nil); err == nil {
		t.Error("a store without a directory stores")
	}
}

// failing is a file of a disk that takes no more, or that cannot be synced.
type failing struct{ write, sync error }

func (f failing) Write(p []byte) (int, error) { return len(p), f.write }
func (f failing) Sync() error                 { return f.sync }
func (f failing) Close() error                { return nil }

func TestStore_Save_disk_full(t *testing.T) {
	for name, bad := range map[string]failing{"no space": {write: syscall.ENOSPC}, "input/output": {sync: syscall.EIO}} {
		root := t.TempDir()
		kept := NewStore(cards.New(cards.Config{BackupDir: root,
			Create: func(string) (cards.File, error) { return bad, nil }}))
		_, _, err := kept.save(Record{Host: "intel9"}, func(w io.Writer) (string, error) {
			_, err := w.Write([]byte("firmware"))
			return "", err
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(root, "*", "*", "*")); len(left) > 0 {
			t.Errorf("%s: left behind %v", name, left)
		}
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
