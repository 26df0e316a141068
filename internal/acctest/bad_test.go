package acctest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// trouble is something that is wrong with a host or a file, with the diagnostic
// that names it. What is wrong before the plan must fail the plan and leave the
// host alone; what happens after it must fail the apply.
type trouble struct {
	name    string
	hosts   func(*labs.Host)
	before  func(*Lab)                 // before the plan
	after   func(*Lab)                 // between plan and apply
	connect func(*Lab, map[string]any) // changes the provider's configuration
	at      string                     // address of the object
	path    string
	says    []string
	written bool // something was written to the card before it failed
}

func TestTrouble_named_at_its_phase(t *testing.T) {
	t.Parallel()
	for _, x := range append(reachTroubles(), applyTroubles()...) {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			x.run(t)
		})
	}
}

func (x trouble) run(t *testing.T) {
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost(func(h *labs.Host) {
		if x.hosts != nil {
			x.hosts(h)
		}
	})})
	if x.before != nil {
		x.before(w)
	}
	ws, cfg := w.Workspace(), w.cardOnly(host)
	if x.connect != nil {
		x.connect(w, ws.Provider)
	}
	before := w.Print(host)
	flash := w.Card(host).Flash.Operations()
	plan := mustPlan(t, ws, cfg)
	if after := w.Print(host); after != before {
		t.Error("the plan changed the host")
	}
	said, phase := plan.Diags, PhasePlan
	if x.after != nil {
		if said.HasError() {
			t.Fatalf("the plan failed:\n%s", said.Errors())
		}
		x.after(w)
		var err error
		if said, err = ws.Apply(context.Background(), plan); err != nil {
			t.Fatal(err)
		}
		phase = PhaseApply
	}
	checkUntainted(t, ws)
	for _, d := range said.Errors().Find(x.says...) {
		// A change found by the second plan, just before the apply, counts as well.
		if d.Address == x.at && d.Path == x.path && (d.Phase == phase || phase == PhaseApply) {
			if n := w.Card(host).Flash.Operations(); n != flash && !x.written {
				t.Errorf("%d operations on the flash", n-flash)
			}
			return
		}
	}
	t.Errorf("expected an error of %s at %q that says %q; got:\n%s", x.at, x.path, x.says, said)
}

// reachTroubles are about the way to the host and to root on it.
func reachTroubles() []trouble {
	card := "infiniband_card." + labs.Intel9
	password := func(h *labs.Host) { h.Users[0].Sudo, h.Users[0].Password = labsim.SudoPassword, "s3cret" }
	return []trouble{
		{name: "key that the host does not know", at: card, path: "host",
			says:  []string{"refused every key and password", "ops"},
			hosts: func(h *labs.Host) { h.Users[0].NoKey = true }},
		{name: "key file that is not there", at: card, path: "host", says: []string{"/nowhere/id"},
			connect: func(_ *Lab, p map[string]any) { entry(p, labs.Intel9)["private_key_file"] = "/nowhere/id" }},
		{name: "sudo that wants a password", at: card, path: "host", says: []string{"could not become root", "password"},
			hosts: password},
		{name: "wrong sudo password", at: card, path: "host", says: []string{"could not become root"}, hosts: password,
			connect: func(_ *Lab, p map[string]any) { entry(p, labs.Intel9)["sudo_password"] = "guess" }},
		{name: "host that does not answer", at: card, path: "host", says: []string{"could not be reached"},
			before:  func(w *Lab) { w.Machine(labs.Intel9).Faults.Set(labsim.FaultSpec{Refuse: true}) },
			connect: func(_ *Lab, p map[string]any) { entry(p, labs.Intel9)["connect_timeout"] = "1s" }},
		{name: "host that accepts and stays silent", at: card, path: "host", says: []string{"could not be reached"},
			before:  func(w *Lab) { w.Machine(labs.Intel9).Faults.Set(labsim.FaultSpec{Hang: true}) },
			connect: func(_ *Lab, p map[string]any) { entry(p, labs.Intel9)["connect_timeout"] = "300ms" }},
		{name: "shell that ends at once", at: card, path: "host", says: []string{"collect facts", "3"},
			before: func(w *Lab) { w.Machine(labs.Intel9).Faults.Set(labsim.FaultSpec{ExitAtExec: 1, ExitStatus: 3}) }},
	}
}

// applyTroubles happen after a plan that was right when it was made.
func applyTroubles() []trouble {
	host := labs.Intel9
	image, firmware := "infiniband_firmware_image."+host, "infiniband_firmware."+host
	return []trouble{
		{name: "image that changed since the plan", at: image, path: "sha256", says: []string{"FW005"},
			after: func(w *Lab) {
				if err := os.WriteFile(w.Image(ImageVPI), []byte("something else"), 0o600); err != nil {
					w.t.Fatal(err)
				}
			}},
		{name: "image that is gone since the plan", at: image, path: "source", says: []string{"FW001"},
			after: func(w *Lab) {
				if err := os.Remove(w.Image(ImageVPI)); err != nil {
					w.t.Fatal(err)
				}
			}},
		{name: "disk that fills while the image is staged", at: image, says: []string{"no space"},
			after: func(w *Lab) {
				if err := w.Machine(host).FS.SetQuota("/var", 200_000); err != nil {
					w.t.Fatal(err)
				}
			}},
		{name: "backup that reads differently twice", at: firmware, says: []string{"BK001"},
			after: func(w *Lab) { w.readsDiffer(host) }},
		{name: "backup directory that cannot be written", at: firmware, says: []string{"firmware-backups"},
			after: func(w *Lab) {
				if err := os.WriteFile(w.Backups, nil, 0o600); err != nil {
					w.t.Fatal(err)
				}
			}},
		{name: "card that somebody else burned since the plan", at: firmware, path: "allow",
			says:    []string{"FW023 allow.psid_change names another pair", "HP_9090111019"},
			written: true, after: func(w *Lab) { w.write(host, oem()) }},
		{name: "restart that never happens", at: firmware, written: true, says: []string{"still the old boot"},
			connect: func(_ *Lab, p map[string]any) {
				entry(p, host)["reboot"] = map[string]any{"allowed": true, "timeout": "6s"}
			},
			after: func(w *Lab) { w.Machine(host).Faults.Set(labsim.FaultSpec{RebootIgnored: true}) }},
		{name: "host that comes back with another key", at: firmware, written: true,
			says:  []string{"the host key has changed", "The restart was asked for"},
			after: func(w *Lab) { w.Machine(host).Faults.Set(labsim.FaultSpec{NewKeyAtReboot: true}) }},
		{name: "flash that reads back wrong", at: firmware, written: true, says: []string{"burn"},
			after: func(w *Lab) { w.Machine(host).Faults.Set(labsim.FaultSpec{FlashVerifyFail: 40}) }},
	}
}

// readsDiffer makes the second copy of the flash that mstflint writes differ.
func (w *Lab) readsDiffer(host string) {
	w.tool(host, mstflint, func(ctx context.Context, p *labsim.Proc, former labsim.Program) int {
		status := former(ctx, p)
		last := p.Args[len(p.Args)-1]
		if len(p.Args) < 2 || p.Args[len(p.Args)-2] != "ri" || status != 0 {
			return status
		}
		data, err := p.ReadFile(last)
		if err == nil && w.Count(host, " ri ") > 0 {
			data[len(data)/2] ^= 1
			err = p.WriteFile(last, data)
		}
		if errors.Is(err, os.ErrNotExist) {
			w.t.Errorf("mstflint ri left no %s", last)
		}
		return status
	})
}
