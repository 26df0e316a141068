package provider_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// startRestoring gives a card that was cross-flashed and given GUIDs, and whose destroy
// restores it.
func startRestoring(t *testing.T, lab labsim.Options) (*acctest.Lab, *acctest.Workspace, acctest.Config) {
	t.Helper()
	w := acctest.Start(t, acctest.Options{Lab: lab, Hosts: labs.TwoHosts()[:1]})
	cfg := w.CrossFlash(intel9)[:4].With(firmware, map[string]any{"on_destroy": "restore"})
	ws := w.Workspace()
	apply(t, ws, cfg)
	return w, ws, cfg
}

// destroy applies the plan of a destroy and gives what was said.
func destroy(t *testing.T, ws *acctest.Workspace) (planned, said acctest.Diags) {
	t.Helper()
	p := plan(t, ws, nil)
	if p.Diags.HasError() {
		return p.Diags, nil
	}
	said, err := ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return p.Diags, said
}

// checkRestored holds that the card is what it was before, with its present identity.
func checkRestored(t *testing.T, w *acctest.Lab, ws *acctest.Workspace) {
	t.Helper()
	flash, running := w.Flash(intel9), w.Card(intel9).Running()
	if flash.PSID != card.PSIDEN || running.PSID != card.PSIDEN || flash.Version != [3]uint16{2, 40, 5032} {
		t.Errorf("in flash %s %v, running %s", flash.PSID, flash.Version, running.PSID)
	}
	if node := acctest.NodeGUID(intel9); flash.GUIDs[0] != node || flash.MACs != w.MACs(intel9) {
		t.Errorf("the card lost its identity: GUIDs %x, MACs %x", flash.GUIDs, flash.MACs)
	}
	if ws.State[firmware] != nil {
		t.Error("the restored firmware is still in the state")
	}
}

const fromTo = card.PSIDVPI + " 2.42.5000 -> " + card.PSIDEN + " 2.40.5032"

func TestRestore_burnsBackWhatTheCardHad(t *testing.T) {
	t.Parallel()
	w, ws, cfg := startRestoring(t, labsim.Options{})
	checkUnchanged(t, ws, cfg)
	original := text(t, ws, firmware, "original_backup_path")
	boots := w.Boots(intel9)
	reboot := ws.Provider["hosts"].(map[string]any)[intel9].(map[string]any)
	reboot["reboot"] = map[string]any{"allowed": true, "drain_commands": []any{"touch /root/drained", "sync"}}
	planned, said := destroy(t, ws)
	says(t, planned.Warnings(), "The destroy restores firmware of card intel9/0000:01:00.0, "+fromTo, original,
		"the host is drained and restarted", "Its drain_commands are: touch /root/drained; sync.")
	w.Run(intel9, "test -e /root/drained")
	if said.HasError() {
		t.Fatal(said)
	}
	says(t, said.Warnings(), "Restored: firmware of card intel9/0000:01:00.0", "Backed up "+card.PSIDVPI)
	checkRestored(t, w, ws)
	if n := w.Boots(intel9); n != boots+1 {
		t.Errorf("%d restarts", n-boots)
	}
	if files := w.Run(intel9, "ls /var/lib/terraform-provider-infiniband/images"); strings.Count(files, ".bin") != 1 {
		t.Errorf("the copy for the burn is left on the host:\n%s", files)
	}
	// What begins anew knows nothing of the earlier life.
	apply(t, ws, cfg)
	if again := text(t, ws, firmware, "original_backup_path"); again == original {
		t.Errorf("the backup of the earlier life is taken for the new one: %s", again)
	}
}

func TestRestore_keepsTheFirstBackupOverLaterBurns(t *testing.T) {
	t.Parallel()
	w, ws, cfg := startRestoring(t, labsim.Options{})
	original := text(t, ws, firmware, "original_backup_path")
	older := cfg.With(image, map[string]any{"source": w.Image(acctest.ImageOldVPI), "sha256": nil}).
		With(firmware, acctest.Allow("downgrade", map[string]any{"from": "2.42.5000", "to": "2.36.5000"}))
	apply(t, ws, older)
	if now := text(t, ws, firmware, "original_backup_path"); now != original ||
		ws.Get(firmware, "backup_path") == original {
		t.Errorf("original_backup_path %s, was %s; backup_path %v", now, original, ws.Get(firmware, "backup_path"))
	}
	if _, said := destroy(t, ws); said.HasError() {
		t.Fatal(said)
	}
	checkRestored(t, w, ws)
}

func TestRestore_isRecordedByAnApplyThatLeavesTheCardAlone(t *testing.T) {
	t.Parallel()
	w, ws, cfg := startRestoring(t, labsim.Options{})
	operations := w.Card(intel9).Flash.Operations()
	keep := cfg.With(firmware, map[string]any{"on_destroy": nil})
	for _, step := range []struct {
		cfg  acctest.Config
		want string
	}{{keep, "keep"}, {cfg, "restore"}, {keep, "keep"}} {
		if got := plan(t, ws, step.cfg).Actions(); len(got) != 1 || got[firmware] != acctest.Update {
			t.Fatalf("planned %v", got)
		}
		apply(t, ws, step.cfg)
		if got := ws.Get(firmware, "on_destroy"); got != step.want {
			t.Errorf("on_destroy is %v", got)
		}
		checkUnchanged(t, ws, step.cfg)
	}
	planned, said := destroy(t, ws)
	for _, phase := range []acctest.Diags{planned, said} {
		says(t, phase, "Left as it is: firmware of card intel9/0000:01:00.0", `on_destroy = "restore"`)
	}
	if n := w.Card(intel9).Flash.Operations(); n != operations || w.Flash(intel9).PSID != card.PSIDVPI {
		t.Errorf("%d operations on the flash", n-operations)
	}
}

func TestRestore_refusesWithoutAGoodBackup(t *testing.T) {
	t.Parallel()
	w, ws, _ := startRestoring(t, labsim.Options{})
	operations := w.Card(intel9).Flash.Operations()
	dir := text(t, ws, firmware, "original_backup_path")
	file := filepath.Join(dir, "firmware.bin")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(code string) {
		t.Helper()
		planned, _ := destroy(t, ws)
		says(t, planned.Errors(), "Refusing to restore firmware of card intel9/0000:01:00.0: "+code, dir)
		if ws.State[firmware] == nil {
			t.Error("the firmware left the state")
		}
	}
	record := filepath.Join(dir, "card.json")
	ours, err := os.ReadFile(record)
	if err != nil || !strings.Contains(string(ours), `"serial_number": "MT`) {
		t.Fatalf("%v\n%s", err, ours)
	}
	if err = os.WriteFile(record, []byte(strings.Replace(string(ours), `"serial_number": "MT`, `"serial_number": "XX`, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	refuses("BK005")
	for _, text := range []string{"null", `{"version": "x"`, `{"version": 1, "taken": 7}`, string(ours[:len(ours)/2])} {
		if err = os.WriteFile(record, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses("BK004")
		planned, _ := destroy(t, ws)
		says(t, planned.Errors(), "card.json is damaged, or was not written by this provider")
	}
	if err = os.WriteFile(record, ours, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte{}, good...)
	damaged[len(damaged)/3] ^= 4
	if err = os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses("BK004")
	if err = os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	refuses("BK003")

	// Missing only when the destroy is applied: nothing is written, and the
	// object stays.
	if err = os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if err = os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	p := plan(t, ws, nil)
	if err = os.Remove(file); err != nil {
		t.Fatal(err)
	}
	said, err := ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "Refusing to restore firmware of card intel9/0000:01:00.0: BK003")
	says(t, said.Warnings(), "stays in the state")
	if ws.State[firmware] == nil || w.Card(intel9).Flash.Operations() != operations {
		t.Error("a refused restore wrote to the card or forgot it")
	}
	if err = os.WriteFile(file, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, said = destroy(t, ws); said.HasError() {
		t.Fatal(said)
	}
	checkRestored(t, w, ws)
}

func TestRestore_ofACardThatSomebodyChanged(t *testing.T) {
	t.Parallel()
	w, ws, _ := startRestoring(t, labsim.Options{})
	burn := func(name string) {
		w.Run(intel9, "mstflint -y -d 0000:01:00.0 -i "+stage(t, w, name)+" --allow_psid_change burn")
		w.Restart(intel9)
		waitUp(t, w)
	}
	burn(acctest.ImageOldVPI)
	planned, _ := destroy(t, ws)
	says(t, planned.Errors(), "BK006", "2.36.5000")

	// Somebody has restored it already: nothing is left to do.
	burn(acctest.ImageEN)
	nothing := plan(t, ws, nil)
	says(t, nothing.Diags.Warnings(), "Nothing to restore: firmware of card intel9/0000:01:00.0, "+card.PSIDEN)

	// By the time of the apply somebody has undone that: it was not announced.
	burn(acctest.ImageVPI)
	operations := w.Card(intel9).Flash.Operations()
	said, err := ws.Apply(context.Background(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "HO019", "The plan was to write nothing", "Destroy again")
	if w.Card(intel9).Flash.Operations() != operations {
		t.Error("the card was written to")
	}

	burn(acctest.ImageEN)
	operations = w.Card(intel9).Flash.Operations()
	planned, said = destroy(t, ws)
	says(t, planned.Warnings(), "Nothing to restore: firmware of card intel9/0000:01:00.0, "+card.PSIDEN)
	if said.HasError() || w.Card(intel9).Flash.Operations() != operations {
		t.Errorf("%d operations:\n%s", w.Card(intel9).Flash.Operations()-operations, said)
	}
	checkRestored(t, w, ws)
}

func TestRestore_killedInTheMiddleIsAdopted(t *testing.T) {
	t.Parallel()
	w, ws, cfg := startRestoring(t, labsim.Options{FlashDelay: 2 * time.Millisecond})
	images := countBurns(w)
	p := plan(t, ws, nil)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		for range 4000 {
			if out, _ := w.Try(intel9, "cat /run/terraform-provider-infiniband/holder"); strings.Contains(out, "job=") {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	}()
	said, err := ws.Apply(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "Unable to say yet how the write to card intel9/0000:01:00.0 ended",
		"The job was not stopped and goes on")
	if ws.State[firmware] == nil {
		t.Fatal("the interrupted restore left the state")
	}
	for range 4000 {
		if out, _ := w.Try(intel9, "cat /run/terraform-provider-infiniband/holder"); out == "" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	// The engines plan the configuration before they plan a destroy: what is refused
	// there ends the destroy. An apply of that plan is refused instead.
	again := plan(t, ws, cfg)
	says(t, again.Diags.Warnings(), "an earlier apply did not finish")
	says(t, again.Diags.Warnings(), "FW045", "A destroy wrote back the firmware that is in flash",
		"Destroy again to go on")
	if again.Diags.HasError() {
		t.Fatal(again.Diags)
	}
	said, err = ws.Apply(context.Background(), again)
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "Refusing to burn firmware on card intel9/0000:01:00.0", "FW045")
	if n := countBurns(w) - images; n != 1 {
		t.Errorf("%d burns", n)
	}
	planned, said := destroy(t, ws)
	says(t, planned.Warnings(), "Nothing to restore: firmware of card intel9/0000:01:00.0",
		"Afterwards the host is restarted")
	if said.HasError() {
		t.Fatal(said)
	}
	checkRestored(t, w, ws)
	if n := countBurns(w) - images; n != 1 {
		t.Errorf("the restore burned %d times", n)
	}
}

// A power cut in the middle of the restore leaves one whole image, and the next
// destroy ends right.
func TestRestore_afterAPowerCut(t *testing.T) {
	t.Parallel()
	w, ws, _ := startRestoring(t, labsim.Options{})
	p := plan(t, ws, nil)
	w.Machine(intel9).Faults.Set(labsim.FaultSpec{PowerCutAtFlash: 60})
	said, err := ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	w.Machine(intel9).Faults.Clear()
	if !said.HasError() || ws.State[firmware] == nil {
		t.Fatalf("in state: %t\n%s", ws.State[firmware] != nil, said)
	}
	if !w.Machine(intel9).Up() {
		w.Machine(intel9).Start()
	}
	waitUp(t, w)
	if _, said = destroy(t, ws); said.HasError() {
		t.Fatal(said)
	}
	checkRestored(t, w, ws)
}

// A create whose provider died after the burn has the backup only in the
// host's journal.
func TestRestore_findsTheBackupOfAnInterruptedCreate(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	cfg = cfg[:4].With(firmware, map[string]any{"on_destroy": "restore"})
	p := plan(t, ws, cfg)
	w.Machine(intel9).Faults.Set(labsim.FaultSpec{RebootIgnored: true})
	host := entry(ws.Provider["hosts"])
	host["reboot"] = map[string]any{"allowed": true, "timeout": "2s"}
	if said, err := ws.Apply(context.Background(), p); err != nil || !said.HasError() || ws.State[firmware] != nil {
		t.Fatalf("apply: %v, in state: %t\n%s", err, ws.State[firmware] != nil, said)
	}
	w.Machine(intel9).Faults.Clear()
	host["reboot"] = map[string]any{"allowed": true}
	apply(t, ws, cfg)
	checkUnchanged(t, ws, cfg)
	planned, said := destroy(t, ws)
	says(t, planned.Warnings(), "The destroy restores firmware", fromTo)
	if said.HasError() {
		t.Fatal(said)
	}
	checkRestored(t, w, ws)
}

// countBurns counts the burns of firmware on the host.
func countBurns(w *acctest.Lab) int {
	images, _ := w.Burns(intel9)
	return images
}

// The real engine shows the refusal of a destroy and carries out the restore.
func TestAccRestore_atDestroy(t *testing.T) {
	engine(t)
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	cfg := acctest.HCL(w.Provider(), w.CrossFlash(intel9)[:4].With(firmware, map[string]any{"on_destroy": "restore"}))
	away := func(from, to string) func() {
		return func() {
			if err := os.Rename(w.Backups+from, w.Backups+to); err != nil {
				t.Error(err)
			}
		}
	}
	acctest.RunSteps(t, []acctest.Step{
		{Config: cfg},
		{
			Before: away("", ".away"), Config: cfg, Destroy: true,
			Refused: regexp.MustCompile(`Refusing\s+to\s+restore\s+firmware\s+of\s+card\s+intel9/0000:01:00\.0:\s+BK003`),
		},
		{Before: away(".away", ""), Config: cfg, PlanOnly: true},
	}, func() error {
		if flash := w.Flash(intel9); flash.PSID != card.PSIDEN {
			return fmt.Errorf("after the destroy the flash holds %s", flash.PSID)
		}
		return nil
	})
}
