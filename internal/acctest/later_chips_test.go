package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// startLaterChip starts a lab of one host with a ConnectX-4 or ConnectX-5.
func startLaterChip(t *testing.T, host labs.Host, change func(*labs.Host)) *Lab {
	t.Helper()
	if change != nil {
		change(&host)
	}
	return Start(t, Options{Hosts: []labs.Host{host}})
}

func cx4() labs.Host { return labs.ConnectX4("cx4", "192.0.2.30", 1) }

// controlled has a host's card run firmware that writes its own flash, with flags of its image.
func controlled(h labs.Host, flags uint16) labs.Host {
	s := card.CX4Spec(card.PSIDCX4, [3]uint16{12, 28, 2006})
	s.Signed, s.Flags = true, flags
	h.Cards[0].Image = card.BuildTOC(s)
	return h
}

// controlledCX4 is an image that such firmware takes.
func controlledCX4(psid string, version [3]uint16) []byte {
	s := card.CX4Spec(psid, version)
	s.Signed, s.Flags = true, card.FlagControlled
	return card.BuildTOC(s)
}

// laterConfig is the configuration that wants an image in the card, with no consent.
func (w *Lab) laterConfig(data []byte, extra map[string]any) Config {
	host := w.Names()[0]
	return w.burn(host, w.file("fw.bin", data), nil).With("infiniband_firmware.it",
		Allow("psid_change", nil)).
		With("infiniband_firmware.it", extra)
}

// TestLater_chips_are_updated burns the same board's newer firmware: the card runs it
// after the restart, keeps its GUIDs, and what it had is in a backup.
func TestLater_chips_are_updated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host labs.Host
		to   []byte
		want [3]uint16
	}{
		"ConnectX-4": {cx4(), card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), [3]uint16{12, 28, 4706}},
		"ConnectX-5": {labs.ConnectX5("cx5", "192.0.2.31", 2), card.CX5([3]uint16{16, 35, 8008}), [3]uint16{16, 35, 8008}},
		"ConnectX-4 that writes its own flash": {controlled(cx4(), card.FlagControlled),
			controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), [3]uint16{12, 28, 4706}},
		"ConnectX-4 with signed firmware": {controlled(cx4(), card.FlagControlled|card.FlagSigned),
			controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), [3]uint16{12, 28, 4706}},
		"ConnectX-6": {controlledCX6(), card.BuildTOC(controlledFS4(card.ConnectX6, card.PSIDCX6, [3]uint16{20, 43, 8004})),
			[3]uint16{20, 43, 8004}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, c.host, nil)
			ws, cfg, before := w.Workspace(), w.laterConfig(c.to, nil), w.Flash(c.host.Name)
			mustApply(t, ws, cfg)
			flash, running := w.Flash(c.host.Name), w.Card(c.host.Name).Running()
			if flash.Version != c.want || running.Version != c.want || flash.GUIDs != before.GUIDs ||
				flash.MACs != before.MACs || flash.PSID != before.PSID {
				t.Errorf("before %+v\nin flash %+v\nrunning %+v", before, flash, running)
			}
			if plan := cleanPlan(t, ws, cfg); len(plan.Actions()) > 0 {
				t.Errorf("there is something to do still: %v", plan.Actions())
			}
			if n := len(w.backups(before.PSID)); n != 1 {
				t.Errorf("%d backups of the first firmware", n)
			}
		})
	}
}

// backups gives the files in backup_dir whose image the lab's own reader finds whole.
func (w *Lab) backups(psid string) []string {
	w.t.Helper()
	var found []string
	err := filepath.WalkDir(w.Backups, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".bin" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if img, err := card.Parse(data); err == nil && img.Verify() == nil && img.PSID == psid {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	return found
}

// TestLater_chips_are_cross_flashed_and_restored changes the PSID as allowed, and burns
// the backup back.
func TestLater_chips_are_cross_flashed_and_restored(t *testing.T) {
	t.Parallel()
	w := startLaterChip(t, cx4(), nil)
	ws, before := w.Workspace(), w.Flash("cx4")
	mustApply(t, ws, w.laterConfig(card.CX4(card.PSIDCX4B, [3]uint16{12, 28, 4706}), map[string]any{
		"allow": map[string]any{"psid_change": map[string]any{"from": card.PSIDCX4, "to": card.PSIDCX4B}},
	}))
	if flash := w.Flash("cx4"); flash.PSID != card.PSIDCX4B || flash.GUIDs != before.GUIDs {
		t.Errorf("after the cross-flash: %+v", flash)
	}
	found := w.backups(card.PSIDCX4)
	if len(found) != 1 {
		t.Fatalf("backups: %q", found)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, ws, w.laterConfig(data, map[string]any{
		"allow": map[string]any{"psid_change": map[string]any{"from": card.PSIDCX4B,
			"to": card.PSIDCX4}, "downgrade": map[string]any{"from": "12.28.4706", "to": "12.28.2006"}},
	}))
	if flash, running := w.Flash("cx4"), w.Card("cx4").Running(); flash.PSID != card.PSIDCX4 ||
		flash.Version != before.Version || flash.GUIDs != before.GUIDs || running.PSID != card.PSIDCX4 {
		t.Errorf("after the restore: in flash %+v, running %+v", flash, running)
	}
}

// TestLater_burns_past_the_firmware burns what the firmware of the card does not take: until the restart that
// firmware says what it was started with, and the flash has the new image all the same.
func TestLater_burns_past_the_firmware(t *testing.T) {
	t.Parallel()
	version := [3]uint16{12, 28, 4706}
	for name, image := range map[string][]byte{"unsigned": card.CX4(card.PSIDCX4, version),
		"another PSID": controlledCX4(card.PSIDCX4B, version)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
			ws := w.Workspace()
			with := func(activation string) Config {
				return w.laterConfig(image, map[string]any{"activation": activation, "allow": map[string]any{
					"psid_change": map[string]any{"from": card.PSIDCX4, "to": card.PSIDCX4B}}})
			}
			mustApply(t, ws, with("none"))
			if said := w.Run("cx4", "mstflint -d "+w.PCI("cx4")+" q"); !strings.Contains(said, "12.28.2006") {
				t.Fatalf("the firmware knows of the burn:\n%s", said)
			}
			if got := fmt.Sprint(ws.Get("infiniband_firmware.it", "flash_version"), ws.Get("infiniband_firmware.it", "running_version"),
				ws.Get("infiniband_firmware.it", "reboot_required")); got != "12.28.470612.28.2006true" {
				t.Errorf("after the burn: %s", got)
			}
			emptyPlan(t, ws, with("none"))
			operations := w.Card("cx4").Flash.Operations()
			mustApply(t, ws, with("reboot"))
			if w.Card("cx4").Flash.Operations() != operations || card.VersionText(w.Card("cx4").Running().Version) != "12.28.4706" {
				t.Errorf("it was burned again, or runs %+v", w.Card("cx4").Running())
			}
			emptyPlan(t, ws, with("reboot"))
		})
	}
}

// TestLater_card_of_an_OEM_by_the_module brings a card with firmware of another board, and with other GUIDs, into a lab.
func TestLater_card_of_an_OEM_by_the_module(t *testing.T) {
	t.Parallel()
	const mac, guid = "ec:0d:9a:76:eb:f0", "0xec0d9a030076ebf0"
	w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
	o := newFolder(t, buildProvider(t))
	o.mirror()
	module, err := filepath.Abs("../../examples/modules/lab")
	if err != nil {
		t.Fatal(err)
	}
	before, data := w.Flash("cx4"), controlledCX4(card.PSIDCX4B, [3]uint16{12, 28, 4706})
	o.write("main.tf", Required+HCL(w.Provider(), nil)+fmt.Sprintf(`
module "lab" {
  source = %q
  image  = { source = %q, sha256 = "%x" }
  allow  = { psid_change = { from = %q, to = %q } }
  cards = {
    cx4 = {
      pci_address = %q
      base_mac    = %q
      allow       = { guid_change = { from = ["0x%016x", %q], to = [%q, %q] } }
    }
  }
}
`, module, w.file("fw.bin", data), sha256.Sum256(data), card.PSIDCX4, card.PSIDCX4B, w.PCI("cx4"), mac, before.GUIDs[0],
		ib.MAC(before.MACs[0]), guid, mac))
	o.says(0, "init")
	o.says(0, "apply", "-auto-approve")
	if got := w.Card("cx4").Running(); got.PSID != card.PSIDCX4B || fmt.Sprintf("0x%016x", got.GUIDs[0]) != guid {
		t.Errorf("the card runs %+v", got)
	}
	o.says(0, "plan", "-detailed-exitcode")
}

// TestLater_chips_are_restored_at_destroy burns back, when the resource goes, what
// the card had before it came: across PSIDs and versions, as recorded, with the
// backup of what is replaced and the card's own GUIDs.
func TestLater_chips_are_restored_at_destroy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host    labs.Host
		to      []byte
		consent map[string]any
	}{
		"ConnectX-4": {cx4(), card.CX4(card.PSIDCX4B, [3]uint16{12, 28, 4706}),
			map[string]any{"from": card.PSIDCX4, "to": card.PSIDCX4B}},
		"ConnectX-5": {labs.ConnectX5("cx5", "192.0.2.31", 2), card.CX5([3]uint16{16, 35, 8008}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, c.host, nil)
			host, before := c.host.Name, w.Flash(c.host.Name)
			extra := map[string]any{"on_destroy": "restore"}
			if c.consent != nil {
				extra["allow"] = map[string]any{"psid_change": c.consent}
			}
			ws := w.Workspace()
			mustApply(t, ws, w.laterConfig(c.to, extra))
			burned := w.Flash(host)
			if burned.Version == before.Version {
				t.Fatalf("nothing was burned: %+v", burned)
			}
			boots := w.Boots(host)
			plan := cleanPlan(t, ws, nil)
			if len(plan.Diags.Warnings().Find("The destroy restores firmware of card "+host, before.PSID)) == 0 {
				t.Errorf("the plan does not say what is restored:\n%s", plan.Diags)
			}
			diags, err := ws.Apply(context.Background(), plan)
			if err != nil || diags.HasError() {
				t.Fatalf("destroy: %v\n%s", err, diags)
			}
			flash, running := w.Flash(host), w.Card(host).Running()
			if flash.PSID != before.PSID || flash.Version != before.Version || running.PSID != before.PSID ||
				running.Version != before.Version {
				t.Errorf("in flash %s %v, running %s %v; had %s %v", flash.PSID, flash.Version, running.PSID, running.Version,
					before.PSID, before.Version)
			}
			if flash.GUIDs != before.GUIDs || flash.MACs != before.MACs {
				t.Errorf("GUIDs %x and MACs %x, had %x and %x", flash.GUIDs, flash.MACs, before.GUIDs, before.MACs)
			}
			if n := w.Boots(host) - boots; n != 1 {
				t.Errorf("%d restarts", n)
			}
			if len(w.backups(burned.PSID)) == 0 {
				t.Error("what was replaced is in no backup")
			}
		})
	}
}

// A restore of a ConnectX-4 is interrupted by a power cut: the card boots one of
// the two images, the resource stays, and the next destroy ends right.
func TestLater_restore_survives_a_power_cut(t *testing.T) {
	t.Parallel()
	w := startLaterChip(t, cx4(), nil)
	ws, before := w.Workspace(), w.Flash("cx4")
	mustApply(t, ws, w.laterConfig(card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), map[string]any{"on_destroy": "restore"}))
	plan := cleanPlan(t, ws, nil)
	w.Machine("cx4").Faults.Set(labsim.FaultSpec{PowerCutAtFlash: 9})
	diags, err := ws.Apply(context.Background(), plan)
	if err != nil || !diags.HasError() || ws.State["infiniband_firmware.it"] == nil {
		t.Fatalf("the interrupted destroy: %v, in state %t\n%s", err, ws.State["infiniband_firmware.it"] != nil, diags)
	}
	w.Machine("cx4").Faults.Clear()
	w.up("cx4")
	if !w.Card("cx4").Running().Loaded {
		t.Fatal("the card boots nothing")
	}
	mustApply(t, ws, nil)
	if flash := w.Flash("cx4"); flash.Version != before.Version || flash.GUIDs != before.GUIDs {
		t.Errorf("in flash %+v, had %+v", flash, before)
	}
}

// TestLater_chips_are_refused plans what must not be burned on them.
func TestLater_chips_are_refused(t *testing.T) {
	t.Parallel()
	newer := card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706})
	built := func(change func(*card.TOCSpec)) []byte {
		s := card.CX4Spec(card.PSIDCX4, [3]uint16{12, 28, 4706})
		change(&s)
		return card.BuildTOC(s)
	}
	flash := func(flags uint16) func(*labs.Host) {
		return func(h *labs.Host) {
			s := card.CX4Spec(card.PSIDCX4, [3]uint16{12, 28, 2006})
			s.Signed, s.Flags = true, flags
			h.Cards[0].Image = card.BuildTOC(s)
		}
	}
	for name, c := range map[string]struct {
		change func(*labs.Host)
		image  []byte
		says   []string
	}{
		"another PSID": {nil, card.CX4(card.PSIDCX4B, [3]uint16{12, 28, 4706}), []string{"FW023", card.PSIDCX4B}},
		"older":        {nil, card.CX4(card.PSIDCX4, [3]uint16{12, 18, 1000}), []string{"FW026", "12.18.1000"}},
		"another chip": {nil, built(func(s *card.TOCSpec) { s.HWIDs, s.Device = []uint32{0x20b}, 0x1015 }),
			[]string{"FW020", "ConnectX-4"}},
		"another format": {nil, card.CX5([3]uint16{16, 35, 8008}), []string{"FW030", "FS4"}},
		"ConnectX-3":     {nil, card.VPI(), []string{"FW030", "FS2"}},
		"secure firmware": {flash(card.FlagSecure | card.FlagControlled), newer,
			[]string{"FW042", "secure-fw", "Changing PSID is unsupported"}},
		"another number of ports": {func(h *labs.Host) { h.Cards[0].PartNumber = "MCX456A-ECAT" }, newer,
			[]string{"FW034", "Mellanox MCX456A-ECAT with 2 (PSMN script)", "Mellanox MCX455A-ECAT with 1",
				`other_board = "` + card.PSIDCX4 + `"`}},
		"board model": {func(h *labs.Host) { h.Cards[0].PartNumber = "MCX456A-ECAT" },
			card.CX4(card.PSIDCX4B, [3]uint16{12, 28, 4706}), []string{"FW023"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, cx4(), c.change)
			plan, err := w.Workspace().Plan(context.Background(), w.laterConfig(c.image, nil))
			if err != nil {
				t.Fatal(err)
			}
			if len(plan.Diags.Errors().Find(c.says...)) == 0 {
				t.Errorf("no error says %q:\n%s", c.says, plan.Diags)
			}
			if len(plan.Diags.Find("FW043")) > 0 { // what nobody may read is not damaged
				t.Errorf("the flash is called damaged:\n%s", plan.Diags)
			}
			if n := w.Card("cx4").Flash.Operations(); n != 0 {
				t.Errorf("the plan made %d flash operations", n)
			}
		})
	}
}

// TestLater_outcome_is_what_is_read has the tool fail after the firmware has staged the image. The
// card holds what was asked for: that is told, and counts.
func TestLater_outcome_is_what_is_read(t *testing.T) {
	t.Parallel()
	w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
	ws, cfg := w.Workspace(), w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), nil)
	w.Machine("cx4").Faults.Trap(".bin b", 1, labsim.ProgramFault{Lie: true, Status: 1,
		Says: func(_ *labsim.Proc, line string) string {
			return strings.Replace(line, "-I- To load new FW run mstfwreset or reboot machine.",
				"-E- Burning FS3 image failed: Bad parameter", 1)
		}})
	mustApply(t, ws, cfg)
	if got := w.Card("cx4").Running().Version; got != [3]uint16{12, 28, 4706} {
		t.Errorf("runs %v", got)
	}
	if said := w.Run("cx4", "cat /var/lib/terraform-provider-infiniband/jobs/*/settled"); !strings.Contains(said,
		"verified, though the tool failed") || !strings.Contains(said, "Bad parameter") {
		t.Errorf("the journal says %q", said)
	}
	if plan := cleanPlan(t, ws, cfg); len(plan.Actions()) > 0 {
		t.Errorf("there is something to do still: %v", plan.Actions())
	}
}

// TestLater_refusals_of_the_firmware says what to do about each, and leaves the card as it was.
func TestLater_refusals_of_the_firmware(t *testing.T) {
	t.Parallel()
	for refusal, says := range map[card.Refusal][]string{
		card.RefusalPending:       {"pending reset", "Another image waits for a restart"},
		card.RefusalNotSigned:     {"component is not signed", "image that the maker of this card publishes"},
		card.RefusalNotApplicable: {"Component is not applicable", "Take the image with the PSID of this card"},
		card.RefusalErase:         {"erasing the flash", "Look for a jumper"},
	} {
		w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
		ws, cfg, before := w.Workspace(), w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), nil), w.Flash("cx4")
		w.Card("cx4").Update().Refuse = refusal
		diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
		lasting := "This failure is lasting: a retry does not help."
		if err != nil || len(diags.Errors().Find(append(says, lasting)...)) == 0 {
			t.Errorf("%q: %v\n%s", says, err, diags)
		}
		if got := w.lastFailure(t, ws, "cx4"); got != "failed, lasting" {
			t.Errorf("%q: the history says %q", says, got)
		}
		if now := w.Flash("cx4"); now != before || w.Card("cx4").Staged() != nil {
			t.Errorf("%q: in flash %+v", says, now)
		}
		mustApply(t, ws, cfg)
	}
}

// lastFailure is how the last change of a host ended, and of which class that is.
func (w *Lab) lastFailure(t *testing.T, ws *Workspace, host string) string {
	t.Helper()
	read, diags, err := ws.Data(t.Context(), "infiniband_history", map[string]any{"host": host})
	if err != nil || diags.HasError() {
		t.Fatalf("%v\n%s", err, diags)
	}
	all, _ := read.(map[string]any)["changes"].([]any)
	last, _ := all[len(all)-1].(map[string]any)
	return fmt.Sprint(last["result"], ", ", last["failure"])
}

// TestLater_failures_that_pass says of a semaphore that is taken, and of a tool that is killed, that the same
// command may be tried again; it succeeds then.
func TestLater_failures_that_pass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault labsim.ProgramFault
		does  string
	}{
		"semaphore": {labsim.ProgramFault{Lie: true, Status: 1, Says: func(_ *labsim.Proc, line string) string {
			return strings.Replace(line, "Component is not applicable", "Failed to lock flash semaphore", 1)
		}}, "the failed run has freed what a dead one left"},
		"killed": {labsim.ProgramFault{Signal: syscall.SIGKILL}, "Run the same command again"},
	} {
		t.Run(name, func(t *testing.T) {
			w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
			ws, cfg := w.Workspace(), w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), nil)
			plan := cleanPlan(t, ws, cfg)
			if name == "semaphore" {
				w.Card("cx4").Update().Refuse = card.RefusalNotApplicable
			}
			w.Machine("cx4").Faults.Trap(".bin b", 1, c.fault)
			diags, err := ws.Apply(t.Context(), plan)
			if err != nil || len(diags.Errors().Find("This failure is passing: the same command may be tried again.",
				c.does)) == 0 {
				t.Errorf("%v\n%s", err, diags)
			}
			if got := w.lastFailure(t, ws, "cx4"); got != "failed, passing" {
				t.Errorf("the history says %q", got)
			}
			mustApply(t, ws, cfg)
			if got := w.lastFailure(t, ws, "cx4"); got != "verified, <nil>" {
				t.Errorf("the history says %q", got)
			}
		})
	}
}

// TestLater_update_by_somebody_else_goes_on has a BMC update the firmware of a card, which no
// process of the host shows: neither a plan nor an apply disturbs it, and both name it.
func TestLater_update_by_somebody_else_goes_on(t *testing.T) {
	t.Parallel()
	w := startLaterChip(t, controlled(cx4(), card.FlagControlled), nil)
	update := w.Card("cx4").Update()
	unharmed := func(when string) {
		t.Helper()
		if v := update.View(); v.State != card.UpdateDownload || v.Owner != card.OwnerBMC {
			t.Errorf("%s: the update is %+v", when, v)
		}
	}
	ws, cfg := w.Workspace(), w.laterConfig(controlledCX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), nil)
	saved := cleanPlan(t, ws, cfg)
	update.Hold(card.OwnerBMC, card.UpdateDownload)
	busy := []string{"HO045", "update of the firmware of the card, state DOWNLOAD, by the BMC"}
	plan, err := w.Workspace().Plan(context.Background(), cfg)
	if err != nil || len(plan.Diags.Errors().Find(busy...)) == 0 {
		t.Errorf("%v\n%s", err, plan.Diags)
	}
	unharmed("after a plan")
	diags, err := ws.Apply(context.Background(), saved)
	if err != nil || len(diags.Errors().Find(busy...)) == 0 {
		t.Errorf("%v\n%s", err, diags)
	}
	unharmed("after an apply")
	if n := w.Card("cx4").Flash.Operations(); n != 0 {
		t.Errorf("%d operations of the flash", n)
	}
}

// controlledCX5 is a host with a ConnectX-5 whose firmware writes its own flash, controlledCX6 one
// with a ConnectX-6.
func controlledCX5() labs.Host {
	h := labs.ConnectX5("cx5", "192.0.2.31", 2)
	h.Cards[0].Image = card.BuildTOC(controlledFS4(card.ConnectX5, card.PSIDCX5, [3]uint16{16, 35, 4030}))
	return h
}

func controlledCX6() labs.Host {
	h := labs.ConnectX5("cx6", "192.0.2.32", 3)
	h.Cards[0].Chip, h.Cards[0].PartNumber = card.ConnectX6, "MCX653105A-ECAT"
	h.Cards[0].Image = card.BuildTOC(controlledFS4(card.ConnectX6, card.PSIDCX6, [3]uint16{20, 32, 1010}))
	return h
}

// controlledFS4 describes an image that such firmware takes.
func controlledFS4(chip card.Chip, psid string, version [3]uint16) card.TOCSpec {
	s := card.CX4Spec(psid, version)
	s.Format, s.HWIDs, s.Device, s.Part = card.FS4, []uint32{uint32(chip.HWID)}, chip.PCIDevice, ""
	s.Signed, s.Flags = true, card.FlagControlled
	return s
}

// TestLater_chips_get_GUIDs gives a card whose firmware takes them another GUID and MAC: with the
// consent that names both, in effect after the restart, with the firmware as it was.
func TestLater_chips_get_GUIDs(t *testing.T) {
	t.Parallel()
	const mac, guid = "ec:0d:9a:76:eb:f0", "0xec0d9a030076ebf0"
	for name, host := range map[string]labs.Host{
		"ConnectX-4": controlled(cx4(), card.FlagControlled), "signed": controlled(cx4(), card.FlagControlled|card.FlagSigned),
		"ConnectX-5": controlledCX5(), "ConnectX-6": controlledCX6(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := startLaterChip(t, host, nil)
			ws, before := w.Workspace(), w.Flash(host.Name)
			wants := func(consent any) Config {
				return w.guids(host.Name, map[string]any{"base_mac": mac, "allow": map[string]any{"guid_change": consent}})
			}
			was := []any{fmt.Sprintf("0x%016x", before.GUIDs[0]), ib.MAC(before.MACs[0]).String()}
			line := fmt.Sprintf(`guid_change = { from = [%q, %q], to = [%q, %q] }`, was[0], was[1], guid, mac)
			if said := mustPlan(t, ws, wants(nil)).Diags.Errors(); len(said) != 1 || len(said.Find("GU011", line)) != 1 {
				t.Fatalf("without a consent:\n%s", said)
			}
			cfg := wants(map[string]any{"from": was, "to": []any{guid, mac}})
			mustApply(t, ws, cfg)
			flash, running := w.Flash(host.Name), w.Card(host.Name).Running()
			if fmt.Sprintf("0x%016x", flash.GUIDs[0]) != guid || ib.MAC(flash.MACs[0]).String() != mac ||
				running.GUIDs[0] != flash.GUIDs[0] || running.MACs[0] != flash.MACs[0] || flash.Version != before.Version ||
				flash.PSID != before.PSID {
				t.Errorf("before %+v\nin flash %+v\nrunning %+v", before, flash, running)
			}
			state := Decode(ws.State["infiniband_guids.it"].Value)
			for key, want := range map[string]any{"base_guid": guid, "node_guid": guid, "system_image_guid": guid,
				"base_mac": mac, "reboot_required": false} {
				if got := field(t, state, key); got != want {
					t.Errorf("%s is %v", key, got)
				}
			}
			if n := w.Boots(host.Name); n != 2 {
				t.Errorf("%d boots", n)
			}
			if plan := cleanPlan(t, ws, cfg); len(plan.Actions()) > 0 {
				t.Errorf("there is something to do still: %v", plan.Actions())
			}
		})
	}
}

// TestLater_chips_keep_their_GUIDs refuses what no tool writes in a safe way, and values that no
// such card can have.
func TestLater_chips_keep_their_GUIDs(t *testing.T) {
	t.Parallel()
	base := map[string]any{"base_mac": "ec:0d:9a:76:eb:f0"}
	for name, c := range map[string]struct {
		host  labs.Host
		attrs map[string]any
		says  []string
	}{
		"written by mstflint": {cx4(), base, []string{"GU014", "ConnectX-4", "Legacy", "-ocr"}},
		"secure":              {controlled(cx4(), card.FlagControlled|card.FlagSecure), base, []string{"FW042", "secure-fw"}},
		"GUIDs of its own for each port": {controlled(cx4(), card.FlagControlled), map[string]any{
			"node_guid": "0xec0d9a030076eaf0", "port_guids": map[string]any{"1": "0xec0d9a030076eaf1"}},
			[]string{"stores one GUID for node, port 1 and system image", "Set base_guid alone"}},
	} {
		w := startLaterChip(t, c.host, nil)
		if said := mustPlan(t, w.Workspace(), w.guids("cx4", c.attrs)).Diags.Errors(); len(said.Find(c.says...)) == 0 {
			t.Errorf("%s:\n%s", name, said)
		}
		if n := w.Card("cx4").Flash.Operations(); n != 0 {
			t.Errorf("%s: %d operations of the flash", name, n)
		}
	}
}

// TestLater_chips_survive_power_cuts cuts the power at flash operations of the burn.
func TestLater_chips_survive_power_cuts(t *testing.T) {
	t.Parallel()
	to := card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706})
	whole := startLaterChip(t, cx4(), nil)
	mustApply(t, whole.Workspace(), whole.laterConfig(to, nil))
	total := whole.Card("cx4").Flash.Operations()
	for _, n := range []int{1, 2, total / 2, total - 2, total - 1, total} {
		w := startLaterChip(t, cx4(), nil)
		ws, cfg, before := w.Workspace(), w.laterConfig(to, nil), w.Flash("cx4")
		w.Machine("cx4").Faults.Set(labsim.FaultSpec{PowerCutAtFlash: n})
		diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
		if err != nil || !diags.HasError() && n != total { // at the last one all was written, and is read back
			t.Errorf("cut at %d of %d: %v, and the apply reports success", n, total, err)
		}
		w.Machine("cx4").Faults.Clear()
		w.up("cx4")
		if !w.Card("cx4").Running().Loaded {
			t.Fatalf("cut at %d of %d: the card boots nothing", n, total)
		}
		said := settle(t, ws, cfg)
		if now := w.Flash("cx4"); now.Version != [3]uint16{12, 28, 4706} || now.GUIDs != before.GUIDs ||
			w.Card("cx4").Running().Version != now.Version {
			t.Errorf("cut at %d of %d: %+v\n%s\n%s", n, total, now, diags, said)
		}
		if strings.Contains(diags.String(), "panic") {
			t.Error(diags)
		}
	}
}

// laterFindings are the findings that only cards behind ConnectX-3 have.
func laterFindings() []findingCase {
	one := func(change func(*labs.Host)) func() []labs.Host {
		return func() []labs.Host { return changeHosts([]labs.Host{cx4()}, []func(*labs.Host){change}) }
	}
	plain := func(w *Lab) Config { return w.laterConfig(card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), nil) }
	cx6 := func(signed bool) []byte {
		s := controlledFS4(card.ConnectX6, card.PSIDCX6, [3]uint16{20, 43, 8004})
		s.Signed = signed
		return card.BuildTOC(s)
	}
	return []findingCase{
		{code: "FW030", at: "image_id", hosts: one(func(*labs.Host) {}), says: []string{"FS3", "FS2"},
			config: func(w *Lab) Config { return w.laterConfig(card.VPI(), nil) }},
		{code: "FW059", at: "card_id", hosts: one(func(*labs.Host) {}), says: []string{"Default Update Method: not known"},
			config: plain, prepare: func(w *Lab) {
				w.Machine("cx4").Faults.Trap("q full", 0, labsim.ProgramFault{Exit: true, Status: 1})
			}},
		{code: "FW034", at: "image_id", hosts: one(func(h *labs.Host) { h.Cards[0].PartNumber = "MCX456A-ECAT" }),
			says: []string{"Mellanox MCX456A-ECAT with 2 (PSMN script)", "Mellanox MCX455A-ECAT with 1"}, config: plain},
		{code: "FW084", at: "image_id", hosts: one(func(h *labs.Host) { *h = controlled(*h, card.FlagControlled) }),
			says: []string{"no signature"}, config: plain},
		{code: "FW085", at: "image_id", hosts: one(func(h *labs.Host) { *h = controlled(*h, card.FlagControlled) }),
			says: []string{"has no signature"}, prepare: func(w *Lab) { w.lockDown("cx4") },
			config: func(w *Lab) Config {
				back := controlledCX4(card.PSIDCX4, devlinkOld)
				return w.devlinkConfig(card.CX4(card.PSIDCX4, [3]uint16{12, 28, 4706}), back, nil)
			}},
		{code: "FW061", at: "card_id",
			hosts:  one(func(h *labs.Host) { *h = controlledCX6() }),
			says:   []string{"ConnectX-6", "has no signature"},
			config: func(w *Lab) Config { return w.laterConfig(cx6(false), nil) }},
		{code: "FW059", at: "card_id", hosts: one(func(h *labs.Host) { *h = controlledCX6() }),
			says:   []string{"fw_ctrl, but mstflint does not reach the running firmware"},
			config: func(w *Lab) Config { return w.laterConfig(cx6(true), nil) },
			prepare: func(w *Lab) {
				w.Machine("cx6").Faults.Trap("--flashed_version", 0, labsim.ProgramFault{Exit: true, Status: 1})
			}},
		secureFinding("FW037", "rollback_image_id", 0, secureNew, "version of the card 16.35.4030, of the image 16.35.8008"),
		secureFinding("FW038", "image_id", 1, secureOld, "Security version of"),
		secureFinding("FW039", "rollback_image_id", 0, secureOld, "without_copy = { card = \"MT1712X00002\""),
		{code: "GU014", at: "card_id", hosts: one(func(*labs.Host) {}), says: []string{"ConnectX-4", "-ocr"},
			config: func(w *Lab) Config {
				return w.guids("cx4", map[string]any{"base_mac": "ec:0d:9a:76:eb:f0"})
			}},
	}
}
