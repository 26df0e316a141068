//go:build reallab && linux

package reallab_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab"
)

// Versions of a card whose firmware writes its own flash.
var oldControlled, newControlled = [3]uint16{12, 28, 2006}, [3]uint16{12, 28, 4706}

// controlled is an image of such firmware.
func controlled(version [3]uint16, change func(*card.TOCSpec)) []byte {
	s := card.CX4Spec(card.PSIDCX4, version)
	s.Signed, s.Flags = true, card.FlagControlled
	if change != nil {
		change(&s)
	}
	return card.BuildTOC(s)
}

// byDriver is the lab of a machine whose kernel keeps every tool from its card.
type byDriver struct {
	*bench
	model *card.Card
}

const (
	locked = "locked"
	serial = "MT1712X00000" // of its card
)

// TestRealKernels_devlink burns a card by the stock mlx5 driver of a kernel that is locked down: the
// real devlink sends the package that the provider has made of an image, and the firmware that it takes
// is read back by the driver. A refused image is told, and the destroy brings the first one back.
func TestRealKernels_devlink(t *testing.T) {
	t.Parallel()
	h := connectX4Of(locked, 0)
	h.Cmdline, h.Slots[0].Card.Image = "lockdown=integrity", controlled(oldControlled, nil)
	b := byDriver{bench: benchOf(t, h)}
	b.model = b.lab.Cards[locked][0].Model
	if out, err := b.lab.Run(t.Context(), locked, "mstflint -d "+reallab.PCIAddress+" q"); err == nil {
		t.Errorf("the kernel lets mstflint at the card: %s", out)
	}
	to, back := controlled(newControlled, nil), controlled(oldControlled, nil)
	cfg := b.config(to, back)
	for name, c := range map[string]struct {
		change func(*card.TOCSpec)
		says   []string
	}{
		"another board": {func(s *card.TOCSpec) { s.PSID = card.PSIDCX4B }, []string{"FW085", "In the image: " + card.PSIDCX4B}},
		"no signature":  {func(s *card.TOCSpec) { s.Signed = false }, []string{"FW085", "has no signature"}},
	} {
		refused, err := b.ws.Plan(context.Background(), b.config(controlled(newControlled, c.change), back))
		if err != nil || len(refused.Diags.Errors().Find(c.says...)) == 0 {
			t.Errorf("%s: %v, no error says %q:\n%v", name, err, c.says, refused.Diags)
		}
	}
	b.refusedByTheFirmware(cfg)

	plan := b.plan("update", cfg)
	if len(plan.Diags.Find("The driver of card "+locked+"/"+reallab.PCIAddress+" has its firmware write the image", "devlink")) != 1 {
		t.Errorf("the plan does not say the way:\n%s", plan.Diags)
	}
	b.mustApply("update", cfg)
	b.has(newControlled)
	if n := b.model.Update().Activations(); n != 1 {
		t.Errorf("the firmware has taken %d images", n)
	}
	b.mustApply("destroy", nil)
	b.has(oldControlled)
}

// config wants an image in the card, with another one as the way back.
func (b byDriver) config(to, back []byte) acctest.Config {
	b.Helper()
	cfg := acctest.Config{}
	for name, data := range map[string][]byte{"to": to, "back": back} {
		path := filepath.Join(b.dir, fmt.Sprintf("%x.bin", sha256.Sum256(data)))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			b.Fatal(err)
		}
		cfg = append(cfg, acctest.Resource{Type: "infiniband_firmware_image", Name: name, Attrs: map[string]any{"host": locked,
			"source": path}})
	}
	id := func(name string) any { return acctest.To("infiniband_firmware_image."+name, "id") }
	return append(cfg, acctest.Resource{Type: "infiniband_firmware", Name: "it", Attrs: map[string]any{
		"card_id": locked + "/" + reallab.PCIAddress, "image_id": id("to"), "rollback_image_id": id("back"),
		"activation": "reboot", "on_destroy": "restore", "allow": map[string]any{"without_copy": map[string]any{
			"card": serial, "rollback_sha256": fmt.Sprintf("%x", sha256.Sum256(back)),
			"image_sha256": fmt.Sprintf("%x", sha256.Sum256(to))}}}})
}

// refusedByTheFirmware: the driver asks the firmware why it does not take the signature, and the apply
// says it. The card has what it had, and takes the image after a restart.
func (b byDriver) refusedByTheFirmware(cfg acctest.Config) {
	b.Helper()
	b.model.Update().Refuse = card.RefusalNotSigned
	diags, err := b.ws.Apply(context.Background(), b.plan("refused", cfg))
	if err != nil || len(diags.Errors().Find("devlink ended with status 1", "component was not signed",
		"keeps the image that runs", "Restart the host")) == 0 {
		b.Errorf("a signature that is refused: %v\n%s", err, diags)
	}
	b.clean()
	boots := b.lab.Machines[locked].Boots()
	_, _ = b.lab.Run(b.Context(), locked, "systemctl reboot") // the connection may end first
	b.awaitBoots(locked, boots+1)
	b.awaitBoot(locked)
	b.has(oldControlled)
}

// has compares what flash, card, driver and state say.
func (b byDriver) has(version [3]uint16) {
	b.Helper()
	want := fmt.Sprintf("%d.%d.%04d", version[0], version[1], version[2])
	flash, err := b.model.Flash.Active()
	if err != nil {
		b.Fatal(err)
	}
	if fw, running := flash.Firmware(), b.model.Running(); fw.Version != version || running.Version != version ||
		fw.GUIDs != running.GUIDs || fw.GUIDs[0] != 0xec0d9a030076eae0 {
		b.Errorf("in flash %+v\nrunning %+v\nwant %s", fw, running, want)
	}
	out := strings.Fields(b.on(locked, "devlink dev info pci/"+reallab.PCIAddress))
	if said := strings.Join(out, " "); strings.Count(said, "fw.version "+want) != 2 || !strings.Contains(said, card.PSIDCX4) {
		b.Errorf("the driver says %q, want %s twice", said, want)
	}
	b.clean()
}

// clean: no package is left where the kernel looks for firmware, nor beside the images.
func (b byDriver) clean() {
	b.Helper()
	if left := b.on(locked, "ls /lib/firmware /var/lib/terraform-provider-infiniband/images 2>/dev/null | grep mfa2 || true"); left != "" {
		b.Errorf("left on the machine: %s", left)
	}
}
