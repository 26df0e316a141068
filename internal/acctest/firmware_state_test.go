package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// firmwareOf configures one of two images for a card.
func firmwareOf(w *Lab, host string, attrs map[string]any) (newer, older Config) {
	base, _ := writers(w, host, host+"/"+w.PCI(host))
	newer = base[:3].With(theFirmware, map[string]any{"activation": "reboot"}).With(theFirmware, attrs)
	older = newer.With(theFirmware, map[string]any{"image_id": To("infiniband_firmware_image.old", "id"),
		"allow": map[string]any{"downgrade": map[string]any{"from": "2.42.5000", "to": "2.36.5000"}}})
	return newer, older
}

// The state of a card whose apply failed after the burn has that burn, and not the one
// before: its backup is the way back.
func TestFirmware_state_after_a_failed_apply(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws := w.Workspace()
	newer, older := firmwareOf(w, host, nil)
	mustApply(t, ws, older)
	w.Machine(host).Faults.Set(labsim.FaultSpec{RebootIgnored: true})
	reboot := ws.Provider["hosts"].(map[string]any)[host].(map[string]any)
	patient := reboot["reboot"]
	reboot["reboot"] = map[string]any{"allowed": true, "timeout": "2s"}
	if diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, newer)); err != nil || !diags.HasError() {
		t.Fatalf("the apply did not fail: %v", err)
	}
	reboot["reboot"] = patient
	w.Machine(host).Faults.Clear()
	mustApply(t, ws, newer)
	emptyPlan(t, ws, newer)
	if got := fmt.Sprint(ws.Get(theFirmware, "change")); got != card.PSIDVPI+" 2.36.5000 -> "+card.PSIDVPI+" 2.42.5000" {
		t.Errorf("change is %q", got)
	}
	record, err := os.ReadFile(filepath.Join(fmt.Sprint(ws.Get(theFirmware, "backup_path")), "card.json"))
	if err != nil || !strings.Contains(string(record), `"2.36.5000"`) {
		t.Errorf("the backup of the last burn: %v\n%s", err, record)
	}
}

// Somebody burned the image that the configuration asks for next. The state follows the
// configuration, so that a destroy restores what was there before.
func TestFirmware_state_of_an_image_that_is_in_flash(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws := w.Workspace()
	newer, older := firmwareOf(w, host, map[string]any{"on_destroy": "restore"})
	mustApply(t, ws, older)
	w.write(host, card.VPI())
	w.Restart(host)
	mustApply(t, ws, newer)
	if got := ws.Get(theFirmware, "image_version"); got != "2.42.5000" {
		t.Errorf("image_version is %v", got)
	}
	emptyPlan(t, ws, newer)
	if images, _ := w.Burns(host); images != 1 {
		t.Errorf("%d burns", images)
	}
	mustApply(t, ws, nil)
}

// What was put into the backup later, with a record that fits, is not burned back. What is
// no file is not waited for.
func TestFirmware_state_knows_the_backup(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws := w.Workspace()
	newer, older := firmwareOf(w, host, map[string]any{"on_destroy": "restore"})
	mustApply(t, ws, older)
	mustApply(t, ws, newer)
	last, original := fmt.Sprint(ws.Get(theFirmware, "backup_path")), fmt.Sprint(ws.Get(theFirmware, "original_backup_path"))
	copyBackup(t, last, original)
	if said := mustPlan(t, ws, nil).Diags.Errors(); len(said.Find("BK004", "it is another backup")) != 1 {
		t.Errorf("another backup in its folder:\n%s", said)
	}
	firmware := filepath.Join(original, "firmware.bin")
	if err := os.Remove(firmware); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(firmware, 0o600); err != nil {
		t.Fatal(err)
	}
	if said := mustPlan(t, ws, nil).Diags.Errors(); len(said.Find("BK004", "is not a regular file")) != 1 {
		t.Errorf("a pipe in its folder:\n%s", said)
	}
}

// copyBackup copies a backup with its record into the folder of another one.
func copyBackup(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"firmware.bin", "card.json"} {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.MkdirAll(to, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An import finds the backup by the journal of the host, and so does it find what was put
// there: what is in the folder by then is not taken for it. Without the journal it is not
// known, and nothing is burned.
func TestFirmware_state_after_an_import_knows_the_backup(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	first := w.Workspace()
	newer, older := firmwareOf(w, host, map[string]any{"on_destroy": "restore"})
	mustApply(t, first, older)
	mustApply(t, first, newer)
	ours, aside := fmt.Sprint(first.Get(theFirmware, "backup_path")), filepath.Join(t.TempDir(), "aside")
	copyBackup(t, ours, aside)
	imported := func(folder string) *Workspace {
		t.Helper()
		copyBackup(t, folder, ours)
		ws := w.Workspace()
		for _, r := range newer {
			if r.Address() != theFirmware {
				continue
			}
			if diags, err := ws.Import(context.Background(), r, host+"/"+w.PCI(host)); err != nil || diags.HasError() {
				t.Fatalf("%v\n%s", err, diags)
			}
		}
		mustApply(t, ws, newer)
		if got := ws.Get(theFirmware, "original_backup_path"); got != ours {
			t.Fatalf("the import has found the backup %v, want %s", got, ours)
		}
		return ws
	}
	operations := w.Card(host).Flash.Operations()
	ws := imported(fmt.Sprint(first.Get(theFirmware, "original_backup_path")))
	if said := mustPlan(t, ws, nil).Diags.Errors(); len(said.Find("BK004", "it is another backup")) != 1 {
		t.Errorf("another backup in the folder when it was imported:\n%s", said)
	}

	ws = imported(aside)
	w.Run(host, "cd /var/lib/terraform-provider-infiniband && mv jobs away")
	if plan := mustPlan(t, ws, nil); plan.Diags.HasError() {
		t.Errorf("the state has the SHA-256:\n%s", plan.Diags)
	}
	ws.State[theFirmware].Private = nil
	said := mustPlan(t, ws, nil).Diags.Errors()
	for _, part := range []string{"neither the state nor the journal of host " + host + " has the SHA-256", "as sha256 into",
		`Write on_destroy = "keep" and apply`} {
		if len(said.Find("BK004", part)) != 1 {
			t.Errorf("a backup of which no SHA-256 is known; nothing says %q:\n%s", part, said)
		}
	}
	if used := w.Card(host).Flash.Operations(); used != operations {
		t.Errorf("%d operations on the flash", used-operations)
	}
	w.Run(host, "cd /var/lib/terraform-provider-infiniband && rm -rf jobs && mv away jobs")
	mustApply(t, ws, nil)
	if flash := w.Flash(host); flash.Version != [3]uint16{2, 36, 5000} {
		t.Errorf("the destroy has restored %v", flash.Version)
	}
}
