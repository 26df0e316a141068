//go:build testbed && linux

package testbed

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
)

var laterVersion = [3]uint16{12, 28, 4706}

// TestProvider_ConnectX4 updates a ConnectX-4 with the real tools: as it should go,
// with the power cut where the new image becomes valid, and, with everyFault, with the tool
// ended and killed in the middle.
func TestProvider_ConnectX4(t *testing.T) {
	t.Parallel()
	o := newOperator(t, "cx4", tocCard(card.ConnectX4, nil))
	o.withoutConfiguration()
	cfg := o.firmware("cx4.bin", card.BuildTOC(tocSpec(card.ConnectX4, psidCX4, laterVersion)), nil)
	before := o.inFlash()
	o.mustApply(cfg)
	o.checkUpdated(before)
	o.nothingToDo(cfg)
	n := o.box.Device.Card().Flash.Operations()
	faults := []struct {
		name string
		at   int
		hit  func(*Host) error
		mend func(*operator)
	}{
		{"power cut", n - 1, cutPower, nil}, {"SIGTERM", n/2 + 1, kill(syscall.SIGTERM), nil},
		// Its semaphore is another one than that of ConnectX-3.
		{"SIGKILL", n / 2, kill(syscall.SIGKILL), (*operator).clearSemaphore},
	}
	if !*everyFault {
		faults = faults[:1]
	}
	for _, f := range faults {
		t.Run(fmt.Sprintf("%s at %d of %d", f.name, f.at, n), func(t *testing.T) {
			each := *o
			each.t = t
			each.disturbLater(f.at, f.hit, f.mend)
		})
	}
}

// TestProvider_chips_that_write_their_own_flash updates cards by their own firmware, as
// it should go and, with everyFault, with the power cut while the firmware writes. Its own dump
// is the backup, and the firmware takes it back.
func TestProvider_chips_that_write_their_own_flash(t *testing.T) {
	t.Parallel()
	for name, chip := range map[string]card.Chip{"cx4own": card.ConnectX4, "cx6own": card.ConnectX6} {
		t.Run(chip.Name, func(t *testing.T) {
			t.Parallel()
			updateByFirmware(t, name, chip)
		})
	}
}

func updateByFirmware(t *testing.T, name string, chip card.Chip) {
	t.Helper()
	writesItself := func(s *card.TOCSpec) { s.Signed, s.Flags = true, card.FlagControlled }
	o := newOperator(t, name, tocCard(chip, writesItself))
	o.withoutConfiguration()
	spec := tocSpec(chip, psidCX4, laterVersion)
	writesItself(&spec)
	image := card.BuildTOC(spec)
	cfg := o.firmware("cx4.bin", image, map[string]any{"on_destroy": "restore"})
	before := o.inFlash()
	o.mustApply(cfg)
	o.checkUpdated(before)
	o.nothingToDo(cfg)
	n := o.box.Device.Card().Flash.Operations()
	o.mustApply(nil)
	if now := o.inFlash(); now.Version != before.Version || now.GUIDs != before.GUIDs {
		t.Errorf("restored: %+v, had %+v", now, before)
	}
	if !*everyFault {
		return
	}
	model, err := card.New(tocCard(chip, writesItself))
	if err != nil {
		t.Fatal(err)
	}
	o.box.Device.Insert(model)
	o.work = o.workspace()
	model.Flash.SetHook(func(op card.Op) error {
		if op.Number != n-1 {
			return nil
		}
		return cutPower(o.box)
	})
	errs := o.applyAndBoot(o.firmware("cx4.bin", image, nil))
	model.Flash.SetHook(nil)
	if _, err := model.Flash.Bootable(); err != nil {
		t.Fatalf("the card boots nothing: %v\n%s", err, errs)
	}
	o.mustApply(o.firmware("cx4.bin", image, nil))
	o.checkUpdated(before)
}

// TestProvider_secure_firmware updates a card of which the tool reads no flash, with an image of what it
// has as the way back, and goes back by it.
func TestProvider_secure_firmware(t *testing.T) {
	t.Parallel()
	secure := func(s *card.TOCSpec) { s.Signed, s.Flags = true, card.FlagSecure|card.FlagControlled }
	had := tocCard(card.ConnectX7, secure)
	o := newOperator(t, "cx7secure", had)
	o.withoutConfiguration()
	spec := tocSpec(card.ConnectX7, psidCX4, laterVersion)
	secure(&spec)
	back, rollback := o.file("back.bin", had.Image)
	cfg := o.firmware("cx7.bin", card.BuildTOC(spec), map[string]any{"on_destroy": "restore",
		"rollback_image_id": acctest.To("infiniband_firmware_image.back", "id")})
	_, sum := o.file("cx7.bin", card.BuildTOC(spec))
	cfg = append(acctest.Config{{Type: "infiniband_firmware_image", Name: "back",
		Attrs: map[string]any{"host": o.box.Name, "source": back, "sha256": rollback}}}, cfg...)
	if said := o.plan(cfg).Diags.Errors(); len(said.Find("FW039", "without_copy")) == 0 {
		t.Fatalf("without a consent:\n%s", said)
	}
	cfg = cfg.With(firmwareAddress, acctest.Allow("without_copy", map[string]any{
		"card": fmt.Sprintf("0x%016x", uint64(gen5GUID)), "rollback_sha256": rollback, "image_sha256": sum}))
	before := o.inFlash()
	o.mustApply(cfg)
	o.checkUpdated(before)
	o.nothingToDo(cfg)
	o.mustApply(nil)
	if now := o.inFlash(); now.Version != before.Version || now.GUIDs != before.GUIDs {
		t.Errorf("restored: %+v, had %+v", now, before)
	}
}

// clearSemaphore is the way out that FW044 names: look that nothing uses the card,
// then clear. The plan before may have left tools that still wait.
func (o *operator) clearSemaphore() {
	o.t.Helper()
	for range 600 {
		if o.box.Running("mstflint") == 0 && o.box.Running("mstconfig") == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if out, err := o.box.Exec(o.context(), "mstflint -clear_semaphore -d "+o.box.BDF); err != nil {
		o.t.Fatalf("%v\n%s", err, out)
	}
}

// checkUpdated holds that the card has and runs the new version, with its own GUIDs.
func (o *operator) checkUpdated(before card.Firmware) {
	o.t.Helper()
	flash, running := o.inFlash(), o.box.Device.Card().Running()
	if flash.Version != laterVersion || running.Version != laterVersion || flash.GUIDs != before.GUIDs ||
		flash.MACs != before.MACs {
		o.t.Errorf("in flash %+v, running %+v", flash, running)
	}
}

// disturbLater burns a fresh card with a fault at one operation of its flash: the card
// boots one of the two images, and the next apply ends right.
func (o *operator) disturbLater(at int, hit func(*Host) error, mend func(*operator)) {
	o.t.Helper()
	model, err := card.New(tocCard(card.ConnectX4, nil))
	if err != nil {
		o.t.Fatal(err)
	}
	o.box.Device.Insert(model)
	o.work = o.workspace()
	cfg := o.firmware("cx4.bin", card.BuildTOC(tocSpec(card.ConnectX4, psidCX4, laterVersion)), nil)
	before := o.inFlash()
	var met atomic.Bool
	model.Flash.SetHook(func(op card.Op) error {
		if op.Number != at {
			return nil
		}
		met.Store(true)
		return hit(o.box)
	})
	errs := o.applyAndBoot(cfg)
	model.Flash.SetHook(nil)
	if !met.Load() {
		o.t.Fatalf("the burn ended before operation %d", at)
	}
	if _, err := model.Flash.Bootable(); err != nil {
		o.t.Fatalf("the card boots nothing: %v", err)
	}
	if mend != nil {
		mend(o)
	}
	if next := o.apply(cfg); next.HasError() {
		o.t.Fatalf("first apply:\n%s\nnext apply:\n%s", errs, next)
	}
	o.checkUpdated(before)
}

// inFlash is what the card's flash holds, by the lab's own reader.
func (o *operator) inFlash() card.Firmware {
	o.t.Helper()
	img, err := o.box.Device.Card().Flash.Active()
	if err != nil {
		o.t.Fatalf("the flash holds no whole image: %v", err)
	}
	return img.Firmware()
}
