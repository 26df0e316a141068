package acctest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Without a driver nobody knows what a card runs. The apply says nothing about it
// and does not fail.
func TestMoment_firmware_of_a_card_without_driver(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.unbind(host)
	ws, cfg := w.Workspace(), w.burn(host, w.Image(ImageVPI),
		map[string]any{"allow": map[string]any{"psid_change": nil}, "on_destroy": "restore"})
	mustApply(t, ws, cfg)
	for _, name := range []string{"running_psid", "running_version", "reboot_required"} {
		if got := ws.Get(theFirmware, name); got != nil {
			t.Errorf("%s is %v, which nothing proves", name, got)
		}
	}
	emptyPlan(t, ws, cfg)
	if images, guids := burns(w, host); images+guids != 0 {
		t.Errorf("%d burns and %d GUID changes", images, guids)
	}
}

// momentCase is a change of the host between a plan and its apply.
type momentCase struct {
	name    string
	hosts   []labs.Host
	extra   map[string]any // arguments of the firmware
	before  func(t *testing.T, w *Lab, ws *Workspace, cfg Config)
	between func(t *testing.T, w *Lab, cfg Config)
	refused []string // what the apply says; nil: it converges
	engine  bool     // the engine itself stops the apply: its plan of a new resource is another one
}

func momentCases() []momentCase {
	host := labs.Intel9
	older := func(t *testing.T, w *Lab, ws *Workspace, cfg Config) {
		t.Helper()
		mustApply(t, ws, cfg.With(theFirmware, map[string]any{"timeouts": nil}))
		w.write(host, card.OldVPI())
		w.Restart(host)
	}
	return []momentCase{
		{
			name: "burned by hand", hosts: boughtHost(), engine: true,
			between: func(_ *testing.T, w *Lab, _ Config) {
				w.write(host, card.VPI())
				w.Restart(host)
			},
		},
		{
			name: "downgraded by hand", hosts: vpi()[:1], extra: map[string]any{"allow_psid_change": nil}, engine: true,
			between: func(_ *testing.T, w *Lab, _ Config) {
				w.write(host, card.OldVPI())
				w.Restart(host)
			},
		},
		{
			name: "applied by somebody else", hosts: boughtHost(), engine: true,
			between: func(t *testing.T, w *Lab, cfg Config) {
				t.Helper()
				mustApply(t, w.Workspace(), cfg)
			},
		},
		{
			name: "mended by hand", hosts: vpi()[:1], extra: map[string]any{"allow": map[string]any{"psid_change": nil},
				"timeouts": map[string]any{"update": "50m"}}, before: older,
			between: func(_ *testing.T, w *Lab, _ Config) {
				w.write(host, card.VPI())
				w.Restart(host)
			},
		},
		{
			name: "other firmware by hand", hosts: vpi()[:1], extra: Allow("psid_change", nil), before: older,
			between: func(_ *testing.T, w *Lab, _ Config) { w.write(host, card.EN()) },
			refused: []string{"HO019", "2.36.5000 -> " + card.PSIDVPI + " 2.42.5000", card.PSIDEN, "Nothing was written",
				"Plan again"},
		},
		{
			name: "restarted", hosts: boughtHost(),
			before: func(t *testing.T, _ *Lab, ws *Workspace, cfg Config) {
				t.Helper()
				mustApply(t, ws, cfg.With(theFirmware, map[string]any{"activation": nil}))
			},
			between: func(_ *testing.T, w *Lab, _ Config) { w.Restart(host) },
		},
		{
			name: "image removed", hosts: boughtHost(),
			before: func(t *testing.T, _ *Lab, ws *Workspace, cfg Config) {
				t.Helper()
				mustApply(t, ws, cfg[:1])
			},
			between: func(_ *testing.T, w *Lab, _ Config) {
				w.Run(host, "rm -rf /var/lib/terraform-provider-infiniband/images")
			},
			refused: []string{"the image is not on the host"},
		},
	}
}

// Whatever becomes of the host between the plan and its apply, the apply does no more than the
// plan has shown. An update converges or says itself what has changed. Of a new resource core
// compares the two plans, and the page says what its words mean.
func TestMoment_firmware_of_a_host_that_changes_between_plan_and_apply(t *testing.T) {
	t.Parallel()
	for _, c := range momentCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: c.hosts})
			ws, cfg := w.Workspace(), w.burn(labs.Intel9, w.Image(ImageVPI), c.extra)
			if c.before != nil {
				c.before(t, w, ws, cfg)
				w.up(labs.Intel9)
			}
			p := cleanPlan(t, ws, cfg)
			c.between(t, w, cfg)
			w.up(labs.Intel9)
			images, _ := burns(w, labs.Intel9)
			said, err := ws.Apply(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			if stopped := len(said.Errors().Find("inconsistent final plan", "change")) > 0; stopped != c.engine {
				t.Errorf("core stops the apply: %t\n%s", stopped, said.Errors())
			}
			if obj := ws.State[theFirmware]; obj != nil && obj.Tainted {
				t.Error("the firmware is tainted")
			}
			if after, _ := burns(w, labs.Intel9); after != images {
				t.Errorf("burned %d times", after-images)
			}
			if c.refused != nil {
				if len(said.Errors().Find(c.refused...)) == 0 {
					t.Errorf("nothing says %q:\n%s", c.refused, said)
				}
				return
			}
			if said.HasError() && !c.engine {
				t.Fatalf("the apply does not converge:\n%s", said.Errors())
			}
			mustApply(t, ws, cfg)
			emptyPlan(t, ws, cfg)
		})
	}
}

// Firmware of another build with the PSID and the version of the image is drift:
// the query of the flash states another date. It is burned over with the consent
// that a burn of the same version needs.
func TestMoment_other_content_of_the_same_version_is_drift(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: vpi()[:1]})
	ws, cfg := w.Workspace(), w.burn(host, w.Image(ImageVPI), Allow("psid_change", nil))
	mustApply(t, ws, cfg)
	w.write(host, spec(func(s *card.Spec) { s.Date, s.Code = 0x20180102, 0x4000 }))
	refused := mustPlan(t, ws, cfg)
	if len(refused.Diags.Errors().Find("FW028", `reinstall = "2.42.5000"`)) == 0 {
		t.Errorf("other content of the same version is not refused:\n%s", refused.Diags)
	}
	cfg = cfg.With(theFirmware, Allow("reinstall", "2.42.5000"))
	p := cleanPlan(t, ws, cfg)
	if got := p.Actions()[theFirmware]; got != Update {
		t.Errorf("planned is %q", got)
	}
	if len(p.Diags.Warnings().Find("The apply burns firmware on card "+host)) == 0 {
		t.Errorf("the plan does not announce the burn:\n%s", p.Diags)
	}
	if said, err := ws.Apply(context.Background(), p); err != nil || said.HasError() {
		t.Fatalf("apply: %v\n%s", err, said.Errors())
	}
	if images, _ := burns(w, host); images != 1 {
		t.Errorf("burned %d times", images)
	}
	emptyPlan(t, ws, cfg)
}

// Another file at the same path is another image: the apply stages what its plan says, though
// nothing in the configuration has changed.
func TestMoment_image_replaced_in_place(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	source := filepath.Join(t.TempDir(), "cur.bin")
	cfg := Config{{Type: "infiniband_firmware_image", Name: "it", Attrs: map[string]any{"host": labs.Intel9, "source": source}}}
	ws, seen := w.Workspace(), map[any]bool{}
	for _, image := range [][]byte{card.VPI(), card.OldVPI()} {
		if err := os.WriteFile(source, image, 0o600); err != nil {
			t.Fatal(err)
		}
		mustApply(t, ws, cfg)
		emptyPlan(t, ws, cfg)
		staged := ws.Get(cfg[0].Address(), "staged_path")
		if w.Run(labs.Intel9, fmt.Sprintf("sha256sum <%s", staged)) != fmt.Sprintf("%x  -\n", sha256.Sum256(image)) || seen[staged] {
			t.Errorf("%v is not the copy of the image", staged)
		}
		seen[staged] = true
	}
}

// A copy of an image that somebody changed on its host is drift: the next plan stages it anew,
// and the firmware, which needs it, has nothing to do.
func TestMoment_staged_image_is_changed(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	host := labs.Intel9
	ws, cfg := w.Workspace(), w.CrossFlash(host)
	mustApply(t, ws, cfg)
	staged := fmt.Sprint(ws.Get(cfg[1].Address(), "staged_path"))
	for what, change := range map[string]string{"one byte is changed": `printf x >>"%s"`, "it is empty": `: >"%s"`} {
		whole := w.Run(host, "sha256sum "+staged)
		w.Run(host, fmt.Sprintf(change, staged))
		plan := cleanPlan(t, ws, cfg)
		if did := plan.Actions(); did[cfg[1].Address()] != Create || len(did) > 1 {
			t.Errorf("%s: the plan does %v\n%s", what, did, plan.Diags)
		}
		mustApply(t, ws, cfg)
		if now := w.Run(host, "sha256sum "+staged); now != whole {
			t.Errorf("%s: after the apply the copy is %s", what, now)
		}
		emptyPlan(t, ws, cfg)
	}
	if images, _ := burns(w, host); images != 1 {
		t.Errorf("burned %d times", images)
	}
}
