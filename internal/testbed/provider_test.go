//go:build testbed && linux

package testbed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

// operator is the machine that runs Terraform, next to one host.
type operator struct {
	t    *testing.T
	bed  *Bed
	box  *Host
	dir  string
	work *acctest.Workspace
}

func newOperator(t *testing.T, name string, c card.Config) *operator {
	t.Helper()
	o := &operator{t: t, dir: t.TempDir()}
	o.bed = start(t, HostConfig{Name: name, Card: c})
	o.box = o.bed.Hosts[name]
	o.work = o.workspace()
	return o
}

func (o *operator) workspace() *acctest.Workspace {
	return acctest.NewWorkspace(acctest.InProcess, map[string]any{
		"backup_dir": filepath.Join(o.dir, "backups"),
		"ssh": map[string]any{
			"private_key_file": o.bed.KeyFile(), "known_hosts_files": []string{o.bed.KnownHostsFile()}, "config_file": "none", "use_agent": false, "user": User,
		},
		"hosts": map[string]any{o.box.Name: map[string]any{"address": o.box.Addr, "reboot": map[string]any{"allowed": true, "timeout": "1m"}}},
	})
}

// file writes an image to the operator's disk and gives path and hash.
func (o *operator) file(name string, data []byte) (path, sum string) {
	o.t.Helper()
	path = filepath.Join(o.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		o.t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	return path, hex.EncodeToString(hash[:])
}

// addresses of the resources of config.
const (
	cardAddress     = "infiniband_card.it"
	imageAddress    = "infiniband_firmware_image.it"
	firmwareAddress = "infiniband_firmware.it"
	guidsAddress    = "infiniband_guids.it"
)

// firmware is the configuration of a card with an image.
func (o *operator) firmware(name string, data []byte, more map[string]any) acctest.Config {
	path, sum := o.file(name, data)
	cfg := acctest.Config{
		{Type: "infiniband_card", Name: "it", Attrs: map[string]any{"host": o.box.Name, "pci_address": o.box.BDF}},
		{Type: "infiniband_firmware_image", Name: "it", Attrs: map[string]any{"host": o.box.Name, "source": path, "sha256": sum}},
		{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{
			"card_id": acctest.To(cardAddress, "id"), "image_id": acctest.To(imageAddress, "id"), "activation": "reboot",
		}},
	}
	return cfg.With(firmwareAddress, more)
}

// crossFlash is the main job's firmware half.
func (o *operator) crossFlash() acctest.Config { return o.crossFlashTo(imageVPI()) }

func (o *operator) crossFlashTo(vpi []byte) acctest.Config {
	cfg := o.firmware("vpi.bin", vpi, map[string]any{"allow_psid_change": map[string]any{"from": card.PSIDEN, "to": card.PSIDVPI}})
	return append(cfg, acctest.Resource{Type: "infiniband_guids", Name: "it", After: []string{firmwareAddress}, Attrs: map[string]any{
		"card_id": acctest.To(cardAddress, "id"), "base_mac": "e4:1d:2d:e4:4e:d0", "activation": "reboot",
	}})
}

func (o *operator) context() context.Context {
	ctx, cancel := context.WithTimeout(o.t.Context(), 3*time.Minute)
	o.t.Cleanup(cancel)
	return ctx
}

func (o *operator) plan(cfg acctest.Config) *acctest.Plan {
	o.t.Helper()
	plan, err := o.work.Plan(o.context(), cfg)
	if err != nil || len(plan.Broken) > 0 {
		o.t.Fatalf("plan: %v %v", err, plan)
	}
	return plan
}

// apply plans and applies; the errors of both are given.
func (o *operator) apply(cfg acctest.Config) acctest.Diags {
	o.t.Helper()
	plan := o.plan(cfg)
	if plan.Diags.HasError() {
		return plan.Diags.Errors()
	}
	diags, err := o.work.Apply(o.context(), plan)
	if err != nil {
		o.t.Fatalf("apply: %v", err)
	}
	return diags.Errors()
}

func (o *operator) applied(cfg acctest.Config) {
	o.t.Helper()
	begin := time.Now()
	if errs := o.apply(cfg); errs.HasError() {
		o.t.Fatalf("apply:\n%s\nconsole:\n%s", errs, lastLines(o.box.Console(), 20))
	}
	o.t.Logf("applied in %s", time.Since(begin).Round(time.Millisecond))
}

func (o *operator) nothingToDo(cfg acctest.Config) {
	o.t.Helper()
	plan := o.plan(cfg)
	if plan.Diags.HasError() {
		o.t.Errorf("plan:\n%s", plan.Diags.Errors())
	}
	if actions := plan.Actions(); len(actions) > 0 {
		o.t.Errorf("there is something to do still: %v", actions)
	}
}

// flash is what the card's flash holds, read by the lab's own reader.
func (o *operator) flash() card.Firmware {
	o.t.Helper()
	img, err := o.box.Device.Card().Flash.Active()
	if err != nil {
		o.t.Fatalf("the flash holds no whole image: %v", err)
	}
	return img.Firmware()
}

var macs = [2]uint64{baseMAC, baseMAC + 1}

// crossFlashed holds the outcome of the main job.
func (o *operator) crossFlashed() {
	o.t.Helper()
	flash, running := o.flash(), o.box.Device.Card().Running()
	want := card.GUIDsFromBase(card.GUIDFromMAC(baseMAC))
	if flash.PSID != card.PSIDVPI || flash.Version != [3]uint16{2, 42, 5000} || flash.GUIDs != want || flash.MACs != macs {
		o.t.Errorf("in flash: %+v", flash)
	}
	if running.PSID != flash.PSID || running.Version != flash.Version || running.GUIDs != want {
		o.t.Errorf("running: %+v", running)
	}
}

// backups gives the images in the operator's backups whose PSID is wanted.
func (o *operator) backups(psid string) []string {
	o.t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(o.dir, "backups"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".bin" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		img, err := card.Parse(data)
		if err == nil && img.Verify() == nil && img.PSID == psid {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		o.t.Errorf("look for backups: %v", err)
	}
	return found
}

// TestProvider_cross_flash is the firmware half of the main scenario with the
// real tools: refusal, burn, GUIDs, second plan, import, drift, restore.
func TestProvider_cross_flash(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "scenario", secondHand())
	cfg := o.crossFlash()
	virgin := o.box.Device.Card().Flash.Dump()

	refused := o.plan(cfg.With(firmwareAddress, map[string]any{"allow_psid_change": nil}))
	if found := refused.Diags.Errors().Find("FW023", "allow_psid_change", card.PSIDEN); len(found) == 0 {
		t.Errorf("a cross-flash without consent is not refused:\n%s", refused.Diags)
	}
	if !bytes.Equal(virgin, o.box.Device.Card().Flash.Dump()) {
		t.Error("a plan changed the flash")
	}

	o.applied(cfg)
	o.crossFlashed()
	if boots := o.box.Boots(); boots != 3 {
		t.Errorf("%d boots; expected the first, one for the firmware, one for the GUIDs", boots)
	}
	o.nothingToDo(cfg)

	o.imports(cfg)
	o.drifts(cfg)
	o.restores()
}

// imports takes what is there into an empty state.
func (o *operator) imports(cfg acctest.Config) {
	o.t.Helper()
	was := o.work
	o.work = o.workspace()
	id := o.box.Name + "/" + o.box.BDF
	for _, r := range cfg {
		if r.Address() == imageAddress {
			source, _ := r.Attrs["source"].(string)
			o.importOne(r, o.box.Name+"/"+source)
			continue
		}
		o.importOne(r, id)
	}
	plan := o.plan(cfg)
	for address, action := range plan.Actions() {
		if action != acctest.Update {
			o.t.Errorf("after the import %s of %s is planned", action, address)
		}
	}
	before := o.box.Device.Card().Flash.Operations()
	boots := o.box.Boots()
	o.applied(cfg)
	if o.box.Device.Card().Flash.Operations() != before || o.box.Boots() != boots {
		o.t.Error("an apply after the import wrote to the flash or restarted the host")
	}
	o.nothingToDo(cfg)
	o.work = was
}

func (o *operator) importOne(r acctest.Resource, id string) {
	o.t.Helper()
	if diags, err := o.work.Import(o.context(), r, id); err != nil || diags.HasError() {
		o.t.Errorf("import %s: %v\n%s", r.Address(), err, diags)
	}
}

// drifts changes the card behind the provider's back.
func (o *operator) drifts(cfg acctest.Config) {
	o.t.Helper()
	out, err := o.box.Exec(o.context(), "mstflint -y -d "+o.box.BDF+" -guid 0002c90300112230 sg")
	if err != nil {
		o.t.Fatalf("%v\n%s", err, out)
	}
	if got := o.plan(cfg).Actions()[guidsAddress]; got != acctest.Update {
		o.t.Errorf("GUIDs changed by hand: %q is planned", got)
	}
	o.applied(cfg)
	o.crossFlashed()
	o.nothingToDo(cfg)
}

// restores burns the backup of the first firmware.
func (o *operator) restores() {
	o.t.Helper()
	found := o.backups(card.PSIDEN)
	if len(found) == 0 {
		o.t.Fatal("there is no backup of the first firmware")
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		o.t.Fatal(err)
	}
	cfg := o.firmware("backup.bin", data, map[string]any{
		"allow_psid_change": map[string]any{"from": card.PSIDVPI, "to": card.PSIDEN}, "allow_downgrade": map[string]any{"from": "2.42.5000", "to": "2.40.5032"},
	})
	o.applied(cfg)
	flash, running := o.flash(), o.box.Device.Card().Running()
	if flash.PSID != card.PSIDEN || running.PSID != card.PSIDEN || flash.MACs != macs {
		o.t.Errorf("after the restore: in flash %+v, running %+v", flash, running)
	}
	o.nothingToDo(cfg)
}

// dump is a raw copy of a flash whose image was burned once, so that it lies in
// the second slot.
func dump(t *testing.T) []byte {
	t.Helper()
	c, err := card.New(secondHand())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(imageVPI(), func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return c.Flash.Dump()
}

// TestProvider_refuses plans what must never be burned.
func TestProvider_refuses(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "refusals", secondHand())
	spec := card.Spec{
		PSID: card.PSIDEN, Version: [3]uint16{2, 42, 5000}, Product: "02.00.00.00", Date: 0x20170905, Device: 0x1007, HWIDs: []uint32{0x1f7}, PRS: "testbed.prs",
		GUIDs: card.PlaceholderGUIDs, MACs: card.PlaceholderMACs, Failsafe: true, ChunkLog: 17, Code: smallCode,
	}
	other, flat := spec, spec
	other.Device, other.HWIDs = 0x1003, []uint32{0x1f5, 0x101f5}
	flat.Failsafe = false
	corrupt := append([]byte{}, card.Build(spec)...)
	corrupt[0x1000] ^= 0x40
	for name, tc := range map[string]struct {
		data []byte
		code string
	}{
		"another chip": {card.Build(other), "FW020"}, "not failsafe": {card.Build(flat), "FW007"}, "damaged": {corrupt, "FW003"},
		"short": {card.Build(spec)[:0x1000], "FW002"}, "a dump": {dump(t), "FW006"}, "older": {image(card.PSIDEN, [3]uint16{2, 36, 5000}, 0x20160114), "FW026"},
	} {
		cfg := o.firmware(strings.ReplaceAll(name, " ", "-")+".bin", tc.data, nil)
		plan, err := o.work.Plan(o.context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Diags.Errors().Find(tc.code)) == 0 {
			t.Errorf("%s: the plan does not say %s:\n%s", name, tc.code, plan.Diags)
		}
	}
	if n := o.box.Device.Card().Flash.Operations(); n != 0 {
		t.Errorf("plans made %d flash operations", n)
	}
}
