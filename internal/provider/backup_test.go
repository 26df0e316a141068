package provider_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const backup = "infiniband_firmware_backup.intel9"

func withBackup(t *testing.T, attrs map[string]any) (*acctest.Lab, *acctest.Workspace, acctest.Config) {
	t.Helper()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	all := w.CrossFlash(intel9)
	r := acctest.Resource{Type: "infiniband_firmware_backup", Name: intel9,
		Attrs: map[string]any{"card_id": acctest.To(cardAddr, "id")}}
	return w, w.Workspace(), acctest.Config{all[0], r.With(attrs)}
}

// backups are the firmware files below backup_dir.
func backups(t *testing.T, w *acctest.Lab) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(w.Backups, "*", "*", "*", "firmware.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func text(t *testing.T, ws *acctest.Workspace, address, attribute string) string {
	t.Helper()
	s, ok := ws.Get(address, attribute).(string)
	if !ok || s == "" {
		t.Fatalf("%s of %s is %v", attribute, address, ws.Get(address, attribute))
	}
	return s
}

func TestBackup_isTakenWithoutTouchingTheCard(t *testing.T) {
	t.Parallel()
	w, ws, cfg := withBackup(t, map[string]any{"triggers": map[string]any{"why": "first"}})
	apply(t, ws, cfg)
	if n, boots := w.Card(intel9).Flash.Operations(), w.Boots(intel9); n != 0 || boots != 1 {
		t.Errorf("%d operations on the flash, %d boots", n, boots)
	}
	file := text(t, ws, backup, "image_path")
	if found := backups(t, w); len(found) != 1 || found[0] != file {
		t.Errorf("path is %s, on the disk are %v", file, found)
	}
	if psid, matches := ws.Get(backup, "psid"), ws.Get(backup, "matches_flash"); psid != card.PSIDEN || matches != true {
		t.Errorf("PSID %v, matches %v", psid, matches)
	}
	if mac := ws.Get(backup, "macs", "1"); mac != "e4:1d:2d:e4:4e:d0" {
		t.Errorf("MAC %v", mac)
	}
	checkUnchanged(t, ws, cfg)

	// A changed trigger takes another one and keeps the first.
	again := cfg.With(backup, map[string]any{"triggers": map[string]any{"why": "second"}})
	if got := plan(t, ws, again).Actions()[backup]; got != acctest.Update {
		t.Errorf("planned %s", got)
	}
	apply(t, ws, again)
	if found := backups(t, w); len(found) != 2 || text(t, ws, backup, "image_path") == file {
		t.Errorf("on the disk are %v", found)
	}
	checkUnchanged(t, ws, again)
}

func TestBackup_thatIsDamagedOrMissingIsReplaced(t *testing.T) {
	t.Parallel()
	w, ws, cfg := withBackup(t, nil)
	apply(t, ws, cfg)
	for name, harm := range map[string]func(file string) error{
		"one byte": func(file string) error {
			data, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return os.WriteFile(file, data, 0o600)
		},
		"missing":   os.Remove,
		"no record": func(file string) error { return os.Remove(filepath.Join(filepath.Dir(file), "card.json")) },
		"empty":     func(file string) error { return os.Truncate(file, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			file := text(t, ws, backup, "image_path")
			before := len(backups(t, w))
			if err := harm(file); err != nil {
				t.Fatal(err)
			}
			p := plan(t, ws, cfg)
			if got := p.Actions()[backup]; got != acctest.Create || p.Diags.HasError() {
				t.Fatalf("planned %q:\n%s", got, p.Diags)
			}
			says(t, p.Diags.Warnings(), "Backup of card intel9/0000:01:00.0 is lost", filepath.Dir(file))
			apply(t, ws, cfg)
			if now := len(backups(t, w)); name != "missing" && now != before+1 {
				t.Errorf("%d backups on the disk, %d before", now, before)
			}
			checkUnchanged(t, ws, cfg)
		})
	}
}

func TestBackup_saysIfTheFlashHasChanged(t *testing.T) {
	t.Parallel()
	w, ws, cfg := withBackup(t, nil)
	apply(t, ws, cfg)
	w.Run(intel9, "mstflint -y -d 0000:01:00.0 -i "+stage(t, w, acctest.ImageVPI)+" --allow_psid_change burn")
	checkUnchanged(t, ws, cfg)
	if got := ws.Get(backup, "matches_flash"); got != false {
		t.Errorf("matches_flash is %v", got)
	}
}

func TestBackup_destroyKeepsTheFiles(t *testing.T) {
	t.Parallel()
	w, ws, cfg := withBackup(t, nil)
	apply(t, ws, cfg)
	file := text(t, ws, backup, "image_path")
	p := plan(t, ws, nil)
	said, err := ws.Apply(context.Background(), p)
	if err != nil || said.HasError() {
		t.Fatalf("destroy: %v\n%s", err, said)
	}
	for _, phase := range []acctest.Diags{p.Diags, said} {
		says(t, phase, "Left as it is: firmware backup of card intel9/0000:01:00.0", file)
	}
	if found := backups(t, w); len(found) != 1 {
		t.Errorf("on the disk are %v", found)
	}
}

func TestBackup_importFindsTheNewestThatVerifies(t *testing.T) {
	t.Parallel()
	w, ws, cfg := withBackup(t, nil)
	apply(t, ws, cfg)
	first := text(t, ws, backup, "image_path")
	apply(t, w.Workspace(), cfg)
	if n := len(backups(t, w)); n != 2 {
		t.Fatalf("%d backups", n)
	}
	for _, file := range backups(t, w) {
		if file == first {
			continue
		}
		if err := os.Truncate(file, 100); err != nil { // the newest is damaged
			t.Fatal(err)
		}
	}
	other := w.Workspace()
	for _, r := range cfg {
		if said, err := other.Import(context.Background(), r, intel9+"/0000:01:00.0"); err != nil || said.HasError() {
			t.Fatalf("import: %v\n%s", err, said)
		}
	}
	if got := text(t, other, backup, "image_path"); got != first {
		t.Errorf("imported %s, want %s", got, first)
	}
	checkUnchanged(t, other, cfg)

	if err := os.RemoveAll(w.Backups); err != nil {
		t.Fatal(err)
	}
	said, err := w.Workspace().Import(context.Background(), cfg[1], intel9+"/0000:01:00.0")
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "Unable to import backup of card intel9/0000:01:00.0", "holds no valid backup")
}

func TestBackup_refusals(t *testing.T) {
	t.Parallel()
	w, _, cfg := withBackup(t, nil)
	for name, c := range map[string]struct {
		change func(ws *acctest.Workspace)
		want   string
	}{
		"no backup_dir": {func(ws *acctest.Workspace) { delete(ws.Provider, "backup_dir") }, "BK002"},
		"observe": {func(ws *acctest.Workspace) {
			entry(ws.Provider["hosts"])["mode"] = "observe"
			delete(entry(ws.Provider["hosts"]), "reboot")
		}, "HO008"},
	} {
		t.Run(name, func(t *testing.T) {
			ws := w.Workspace()
			c.change(ws)
			says(t, plan(t, ws, cfg).Diags.Errors(), "Refusing to back up firmware of card intel9/0000:01:00.0", c.want)
		})
	}
	t.Run("directory that cannot be written", func(t *testing.T) {
		ws := w.Workspace()
		p := plan(t, ws, cfg)
		if err := os.WriteFile(w.Backups, []byte("in the way"), 0o600); err != nil {
			t.Fatal(err)
		}
		says(t, plan(t, w.Workspace(), cfg).Diags.Errors(), "Refusing to back up firmware of card intel9/0000:01:00.0",
			"BK010", "is not a directory")
		said, err := ws.Apply(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		says(t, said.Errors(), "Refusing to back up firmware of card intel9/0000:01:00.0", "BK010", "is not a directory")
		if ws.State[backup] != nil {
			t.Error("a backup that failed is in the state")
		}
	})
}
