package acctest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// cardOnly is the part of the main scenario that writes to the card.
func (w *Lab) cardOnly(host string) Config {
	return w.CrossFlash(host).Without("infiniband_opensm."+host, "infiniband_ipoib_interface."+host)
}

// The power fails at the n-th erase or program operation of the flash. The host
// comes back by itself, with the old firmware or the new one, and the next apply
// goes on from there.
func TestInterrupted_power_cut_at_flash_operations(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	whole := Start(t, Options{Hosts: boughtHost()})
	before := whole.Card(host).Flash.Operations()
	mustApply(t, whole.Workspace(), whole.cardOnly(host))
	total := whole.Card(host).Flash.Operations() - before
	if total < 100 {
		t.Fatalf("the job took %d flash operations; too few to mean anything", total)
	}
	// The first and last ones decide which slot boots; those between are alike.
	points := []int{1, 2, 3, total / 7, total / 4, total/2 - 2, total/2 - 1, total / 2, total/2 + 1, total/2 + 2,
		total * 3 / 4, total - 3, total - 2, total - 1, total}
	for _, n := range points {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: boughtHost()})
			ws, cfg := w.Workspace(), w.cardOnly(host)
			w.Machine(host).Faults.Set(labsim.FaultSpec{PowerCutAtFlash: n})
			plan := cleanPlan(t, ws, cfg)
			diags, err := ws.Apply(context.Background(), plan)
			if err != nil {
				t.Fatal(err)
			}
			checkUntainted(t, ws)
			// At the last operation of a job nothing was left to write, and what is read back counts.
			if !diags.HasError() && n != total && n != total/2 {
				t.Errorf("the apply in which the power failed reports success")
			}
			w.Machine(host).Faults.Clear()
			w.up(host)
			said := settle(t, ws, cfg)
			if images, guids := burns(w, host); images > 2 || guids > 2 {
				t.Errorf("%d firmware burns and %d GUID changes: one of each was due, and one again after the power cut", images,
					guids)
			}
			checkConverged(t, w, ws, cfg, host)
			if t.Failed() {
				t.Logf("at first:\n%s\nthen:\n%s", diags, said)
			}
		})
	}
}

// up waits until a host has booted.
func (w *Lab) up(host string) {
	w.t.Helper()
	for range 1000 {
		if w.Machine(host).Up() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatalf("%s does not come back", host)
}

// The upload of the image breaks off after so many bytes. What is staged is whole
// or absent, and the next apply stages it.
func TestInterrupted_upload_cut(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for _, n := range []int64{1, 32767, 32768, 32769, 400_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: boughtHost()})
			ws, cfg := w.Workspace(), w.cardOnly(host)[:2]
			w.Machine(host).Faults.Set(labsim.FaultSpec{CutUploadAt: n})
			diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
			if err != nil {
				t.Fatal(err)
			}
			checkUntainted(t, ws)
			staged := "/var/lib/terraform-provider-infiniband/images/" + w.Images[ImageVPI].SHA256 + ".bin"
			if data, err := w.Machine(host).FS.ReadFile(staged); err == nil && string(data) != string(card.VPI()) {
				t.Errorf("%d bytes are staged under the hash of the whole image:\n%s", len(data), diags)
			}
			w.Machine(host).Faults.Clear()
			settle(t, ws, cfg)
			emptyPlan(t, ws, cfg)
			if data, err := w.Machine(host).FS.ReadFile(staged); err != nil || string(data) != string(card.VPI()) {
				t.Errorf("%d bytes are staged: %v", len(data), err)
			}
		})
	}
}

// A host that is drained for a restart says so until its resume commands have run. What is left of an apply that ended in
// between, the next plans name, also where nothing else is to be done.
func TestInterrupted_resume_commands_that_are_owed(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	for resume, owed := range map[string]bool{"test -e /tmp/nothing": true, "touch /tmp/back": false} {
		t.Run(resume, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: boughtHost()})
			ws, cfg := w.Workspace(), w.burn(host, w.Image(ImageVPI), nil)
			ws.Provider["hosts"].(map[string]any)[host].(map[string]any)["reboot"] = map[string]any{"allowed": true,
				"drain_commands": []any{"cp " + inventory.OwedNote + " /root/note"}, "resume_commands": []any{resume}}
			diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
			if err != nil || diags.HasError() != owed {
				t.Fatalf("%v\n%s", err, diags)
			}
			if note := w.Run(host, "cat /root/note"); !strings.Contains(note, "UTC\n"+resume) {
				t.Errorf("while the host is drained its note is %q", note)
			}
			if w.Machine(host).FS.Exists(inventory.OwedNote) != owed {
				t.Errorf("after the apply the note is there: %t", !owed)
			}
			for range 2 {
				said := cleanPlan(t, ws, cfg).Diags.Warnings().Find("Host "+host+": HO050 Resume commands have not run", resume)
				if len(said) > 0 != owed {
					t.Errorf("the next plan says:\n%s", said)
				}
				if diags, err = ws.Apply(context.Background(), cleanPlan(t, ws, cfg)); err != nil || diags.HasError() {
					t.Fatalf("%v\n%s", err, diags)
				}
			}
			w.Run(host, "rm -f "+inventory.OwedNote)
			emptyPlan(t, ws, cfg)
		})
	}
}

// A restart while a client is connected is refused until the entry of the host names the service, also if the
// client has connected since the plan: then nothing is burned.
func TestRestart_clients_of_shares(t *testing.T) {
	t.Parallel()
	host := labs.Xeon2zfs
	w := Start(t, Options{Hosts: labs.TwoHosts()})
	ws, cfg := w.Workspace(), w.burn(host, w.Image(ImageVPI), nil)
	restart := map[string]any{"allowed": true}
	ws.Provider["hosts"].(map[string]any)[host].(map[string]any)["reboot"] = restart
	plan := cleanPlan(t, ws, cfg)
	w.Machine(host).FS.Put("/proc/net/tcp", listening, 0o444)
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || len(diags.Errors().Find("HO013", "NFS (clients connected: 1)")) != 1 {
		t.Fatalf("a client that has connected since the plan: %v\n%s", err, diags)
	}
	if images, guids := burns(w, host); images != 0 || guids != 0 {
		t.Errorf("%d images and %d GUID changes were burned", images, guids)
	}
	said := mustPlan(t, ws, cfg).Diags.Errors()
	if len(said) != 1 || len(said.Find("HO013", `write interrupts = ["NFS"] into the reboot of the host's entry`)) != 1 {
		t.Errorf("a client that is connected: %s", said)
	}
	restart["interrupts"] = []any{"SMB"}
	if said = mustPlan(t, ws, cfg).Diags.Errors(); len(said.Find("HO013")) != 1 {
		t.Errorf("with the consent to another service: %s", said)
	}
	restart["interrupts"] = []any{"SMB", "NFS"}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	restart["interrupts"] = []any{"nfs-server"}
	if said = mustPlan(t, ws, cfg).Diags.Errors(); len(said.Find("interrupts", `"nfs-server"`)) != 1 {
		t.Errorf("a service that is none: %s", said)
	}
}

// The provider dies in the middle of the burn: the job goes on on the host. A plan
// in another process says so and what will be done, and its apply waits for the
// job, reads the card and records the result. Nothing is burned twice.
func TestInterrupted_provider_killed(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ host, program string }{{labs.Intel9, "b"}, {labs.Xeon2zfs, "b"}, {labs.Intel9, "sg"}} {
		t.Run(x.host+" "+x.program, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{})
			m := w.Machine(x.host)
			ws, cfg := w.Workspace(), w.cardOnly(x.host)
			if x.program == "sg" {
				mustApply(t, ws, cfg[:3])
			}
			m.Faults.Set(labsim.FaultSpec{FlashSlow: 15 * time.Millisecond})
			plan := cleanPlan(t, ws, cfg)
			ctx, kill := context.WithCancel(context.Background())
			defer kill()
			ended := make(chan Diags)
			go func() {
				diags, err := ws.Apply(ctx, plan)
				if err != nil {
					diags = append(diags, Diag{Error: true, Summary: err.Error()})
				}
				ended <- diags
			}()
			w.waitForMstflint(x.host, x.program)
			kill()
			killed := <-ended
			checkUntainted(t, ws)
			if len(killed.Errors().Find("was not stopped", "systemctl status")) == 0 {
				t.Errorf("the interrupted apply does not say that the job goes on:\n%s", killed)
			}

			again := cleanPlan(t, ws, cfg)
			said := again.Diags.Warnings()
			if len(said.Find("an earlier apply did not finish"))+len(said.Find("A job ", " now (job ")) == 0 {
				t.Errorf("the plan does not say what happened:\n%s", again.Diags)
			}
			m.Faults.Clear()
			diags, err := ws.Apply(context.Background(), again)
			if err != nil || diags.HasError() {
				t.Fatalf("apply: %v\n%s", err, diags.Errors())
			}
			once(t, w, x.host)
			checkConverged(t, w, ws, cfg, x.host)
		})
	}
}

// The provider dies while it writes GUIDs, and the flash has them when somebody plans again.
// What needs the new GUIDs waits for the restart that this plan announces.
func TestInterrupted_GUIDs_before_what_needs_them(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{})
	m := w.Machine(host)
	ws, cfg := w.Workspace(), w.CrossFlash(host)
	mustApply(t, ws, cfg[:5])
	cfg = cfg.With("infiniband_guids."+host, map[string]any{"base_mac": "e4:1d:2d:e4:4e:a0",
		"allow": map[string]any{"guid_change": replacing(baseMACs[host], "e4:1d:2d:e4:4e:a0")}})
	m.Faults.Set(labsim.FaultSpec{FlashSlow: 5 * time.Millisecond})
	plan := cleanPlan(t, ws, cfg[:5])
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	ended := make(chan error)
	go func() {
		_, err := ws.Apply(ctx, plan)
		ended <- err
	}()
	w.waitForMstflint(host, "sg")
	kill()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	m.Faults.Clear()
	for strings.Count(w.states(host), " burned ") < 3 { // the image, and GUIDs twice
		time.Sleep(3 * time.Millisecond)
	}
	if said := cleanPlan(t, ws, cfg).Diags; len(said.Find("The flash has the GUIDs, and the card does not use them yet")) != 1 {
		t.Errorf("the plan announces no restart:\n%s", said)
	}
	mustApply(t, ws, cfg)
}

// waitForMstflint waits until mstflint runs on a host with a last argument.
func (w *Lab) waitForMstflint(host, last string) {
	w.t.Helper()
	for range 4000 {
		for _, p := range w.Machine(host).Processes() {
			if strings.HasSuffix(p.Args[0], "mstflint") && p.Args[len(p.Args)-1] == last {
				return
			}
		}
		time.Sleep(3 * time.Millisecond)
	}
	w.t.Fatalf("no mstflint … %s ran on %s; states of the jobs:\n%s", last, host, w.states(host))
}

// The host cannot be reached for a while during the burn. The apply waits for it.
func TestInterrupted_host_away_during_the_burn(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	m := w.Machine(host)
	ws, cfg := w.Workspace(), w.cardOnly(host)
	m.Faults.Set(labsim.FaultSpec{FlashSlow: 2 * time.Millisecond})
	plan := cleanPlan(t, ws, cfg)
	ended := make(chan Diags)
	go func() {
		diags, err := ws.Apply(context.Background(), plan)
		if err != nil {
			diags = append(diags, Diag{Error: true, Summary: err.Error()})
		}
		ended <- diags
	}()
	w.waitForMstflint(host, "b")
	m.Faults.Update(func(s *labsim.FaultSpec) { s.Refuse = true })
	w.DropAll()
	time.Sleep(1500 * time.Millisecond)
	m.Faults.Clear()
	if diags := <-ended; diags.HasError() {
		t.Fatalf("apply:\n%s", diags.Errors())
	}
	once(t, w, host)
	checkConverged(t, w, ws, cfg, host)
}

// A second operator who applies while the first one's burn runs is not let near
// the card, and is told who is at it.
func TestInterrupted_second_operator(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{Hosts: boughtHost()})
	cfg := w.cardOnly(host)
	w.busy(host, cfg)
	second := w.Workspace()
	second.Ended = func() {}
	plan := mustPlan(t, second, cfg)
	if len(plan.Diags.Find("A job burns card "+host+"/0000:01:00.0 now (job ", "running")) == 0 {
		t.Errorf("the second operator's plan does not mention the running job:\n%s", plan.Diags)
	}
	if images, _ := burns(w, host); images > 0 {
		t.Errorf("the burn had ended, or was done twice: %d", images)
	}
}
