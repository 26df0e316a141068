package provider_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

func oneHost(t *testing.T) (*acctest.Lab, *acctest.Workspace, acctest.Config) {
	t.Helper()
	w := acctest.Start(t, acctest.Options{Hosts: labs.TwoHosts()[:1]})
	return w, w.Workspace(), w.CrossFlash(intel9)
}

// says fails unless some diagnostic holds all texts.
func says(t *testing.T, said acctest.Diags, texts ...string) {
	t.Helper()
	for _, d := range said {
		text, all := strings.Join(strings.Fields(d.Text()), " "), true
		for _, want := range texts {
			all = all && strings.Contains(text, want)
		}
		if all {
			return
		}
	}
	t.Errorf("nothing says %q; said:\n%s", texts, said)
}

func TestDestroy_forgetsHardwareAndSaysSo(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	apply(t, ws, cfg)
	operations := w.Card(intel9).Flash.Operations()
	p := plan(t, ws, nil)
	said, err := ws.Apply(context.Background(), p)
	if err != nil || said.HasError() {
		t.Fatalf("destroy: %v\n%s", err, said)
	}
	for _, phase := range []acctest.Diags{p.Diags, said} {
		says(t, phase, "Left as it is: firmware of card intel9/0000:01:00.0")
		says(t, phase, "Left as it is: GUIDs of card intel9/0000:01:00.0")
		says(t, phase, "Left as it is: link types of card intel9/0000:01:00.0")
	}
	says(t, p.Diags, "Removing subnet manager intel9/0xe41d2d0300e44ed1", "The package opensm")
	says(t, p.Diags, "Removing the configuration of IPoIB interface intel9/0xe41d2d0300e44ed1")
	if n := w.Card(intel9).Flash.Operations(); n != operations || w.Flash(intel9).PSID != card.PSIDVPI {
		t.Errorf("destroy wrote to the flash: %d operations, were %d", n, operations)
	}
	if out, status := w.Try(intel9, "systemctl is-active 'opensm@0xe41d2d0300e44ed1.service'"); status == 0 {
		t.Errorf("the subnet manager still runs: %s", out)
	}
	if files := w.Run(intel9, "ls /etc/netplan /etc/udev/rules.d"); strings.Contains(files, "e41d2d0300e44ed1") {
		t.Errorf("destroy left files of ours:\n%s", files)
	}
}

func TestRead_keepsTheStateOfAHostThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	apply(t, ws, cfg)
	before := len(ws.State)
	w.Machine(intel9).Faults.Set(labsim.FaultSpec{Refuse: true})
	p := plan(t, ws, cfg)
	for _, r := range cfg {
		found := false
		for _, d := range p.Diags.Errors() {
			found = found || d.Address == r.Address() && d.Phase == acctest.PhaseRead
		}
		if !found && r.Type != "infiniband_firmware_image" {
			t.Errorf("the refresh of %s says nothing", r.Address())
		}
	}
	if len(ws.State) != before {
		t.Errorf("%d objects in state, were %d", len(ws.State), before)
	}
	w.Machine(intel9).Faults.Clear()
	checkUnchanged(t, ws, cfg)
}

func TestRead_removesWhatAReachableHostDoesNotHave(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	apply(t, ws, cfg)
	// Somebody removes our configuration and the staged image.
	w.Run(intel9, "rm -rf /var/lib/terraform-provider-infiniband/images")
	p := plan(t, ws, cfg)
	if got := p.Actions(); len(got) != 1 || got[image] != acctest.Create {
		t.Errorf("planned %v", got)
	}
}

// A consent is for one pair of PSIDs: what somebody has burned since the plan is
// not covered by it.
func TestApply_refusesACardThatChangedSinceThePlan(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	p := plan(t, ws, cfg)
	// Between plan and apply somebody burns the firmware of another board.
	const other = "/root/other.bin"
	w.Machine(intel9).FS.Put(other, string(card.HP()), 0o600)
	w.Run(intel9, "mstflint -y -d 0000:01:00.0 -i "+other+" --allow_psid_change burn")
	w.Restart(intel9)
	waitUp(t, w)
	operations := w.Card(intel9).Flash.Operations()
	said, err := ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	says(t, said.Errors(), "Refusing to burn firmware on card intel9/0000:01:00.0", card.PSIDHP)
	if got := w.Card(intel9).Flash.Operations(); got != operations {
		t.Errorf("%d flash operations", got-operations)
	}
	if ws.State[firmware] != nil {
		t.Error("the refused burn is in the state")
	}
}

func TestApply_hostThatNeverComesBackIsNamedAndNotTainted(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	host := ws.Provider["hosts"].(map[string]any)[intel9].(map[string]any)
	host["reboot"] = map[string]any{"allowed": true, "timeout": "2s"}
	p := plan(t, ws, cfg)
	w.Machine(intel9).Faults.Set(labsim.FaultSpec{RebootNever: true})
	said, err := ws.Apply(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	if found := said.Errors().Find("intel9"); len(found) == 0 {
		t.Errorf("nothing names the host:\n%s", said)
	}
	if ws.State[firmware] != nil {
		t.Error("a failed activation left an object that would be destroyed and created again")
	}
	// Somebody switches the machine on; the next apply goes on from there.
	w.Machine(intel9).Faults.Clear()
	w.Machine(intel9).Start()
	waitUp(t, w)
	host["reboot"] = map[string]any{"allowed": true}
	apply(t, ws, cfg)
	checkUnchanged(t, ws, cfg)
	if images, _ := w.Burns(intel9); images != 1 {
		t.Errorf("the second apply burned again: %d burns", images)
	}
	if backup := text(t, ws, firmware, "backup_path"); backup != text(t, ws, firmware, "original_backup_path") {
		t.Errorf("the backup of the first apply is not recorded: %s", backup)
	}
}

func TestPlan_postponesWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	_, ws, cfg := oneHost(t)
	for _, r := range cfg[2:] {
		for _, key := range []string{"card_id", "port_guid"} {
			if r.Attrs[key] != nil {
				unknown := r.With(map[string]any{key: acctest.Unknown})
				unknown.After = nil
				if r.Type == "infiniband_firmware" {
					unknown = unknown.With(map[string]any{"image_id": acctest.Unknown})
				}
				p := plan(t, ws, acctest.Config{unknown})
				if p.Diags.HasError() {
					t.Errorf("%s with an unknown %s fails:\n%s", r.Type, key, p.Diags)
				}
				says(t, p.Diags.Warnings(), "Checked at apply", "makes the checks before it changes anything")
			}
		}
	}
}

// Where the port is not known yet, the host and the settings are judged all the same.
func TestPlan_judgesWhatNeedsNoPort(t *testing.T) {
	t.Parallel()
	_, ws, cfg := oneHost(t)
	find := func(kind string) acctest.Resource {
		for _, r := range cfg {
			if r.Type == kind {
				r = r.With(map[string]any{"port_guid": acctest.Unknown})
				r.After = nil
				return r
			}
		}
		t.Fatalf("no %s", kind)
		return acctest.Resource{}
	}
	sm, ip := find("infiniband_opensm"), find("infiniband_ipoib_interface")
	warned := plan(t, ws, acctest.Config{sm}).Diags.Warnings()
	says(t, warned, "Subnet manager on host intel9: PF003")
	says(t, warned, "The plan does not know port_guid yet", "Not checked yet: the port and who serves it")
	bare := map[string]any{"storage": map[string]any{"pkey": "0x0001", "full": []any{"ALL"}}}
	says(t, plan(t, ws, acctest.Config{sm.With(map[string]any{"partitions": bare})}).Diags.Errors(), "SM013",
		"partitions has storage")
	says(t, plan(t, ws, acctest.Config{ip}).Diags.Warnings(), "The plan does not know port_guid yet",
		"Not checked yet: the port and its interface")
	says(t, plan(t, ws, acctest.Config{ip.With(map[string]any{"addresses": []any{"255.255.255.255/32"}})}).Diags.Errors(),
		"IP021")
	entry(ws.Provider["hosts"])["mode"] = "observe"
	for _, r := range []acctest.Resource{sm, ip} {
		says(t, plan(t, ws, acctest.Config{r}).Diags.Warnings(), "HO008", "Host intel9")
	}
}

func TestProvider_toleratesUnknownConfiguration(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	hosts := ws.Provider["hosts"]
	for name, change := range map[string]func(){
		"hosts":                func() { ws.Provider["hosts"] = acctest.Unknown },
		"an address":           func() { entry(hosts)["address"] = acctest.Unknown },
		"the backup directory": func() { ws.Provider["backup_dir"] = acctest.Unknown },
	} {
		t.Run(name, func(t *testing.T) {
			ws.Provider = w.Provider()
			hosts = ws.Provider["hosts"]
			change()
			p := plan(t, ws, cfg[:2])
			if p.Diags.HasError() {
				t.Errorf("the plan fails:\n%s", p.Diags)
			}
		})
	}
}

func entry(hosts any) map[string]any { return hosts.(map[string]any)[intel9].(map[string]any) }

func TestPlan_codesThatNeedMoreThanOneHost(t *testing.T) {
	t.Parallel()
	w := acctest.Start(t, acctest.Options{})
	cfg := w.BothHosts()
	for name, tc := range map[string]struct {
		cfg  acctest.Config
		at   string
		want string
	}{
		"one MAC for two cards": {cfg.With("infiniband_guids.xeon2zfs", map[string]any{"base_mac": "e4:1d:2d:e4:4e:d0"}),
			"infiniband_guids.xeon2zfs", "GU006"},
		"bases that overlap": {cfg.With("infiniband_guids.xeon2zfs",
			map[string]any{"base_guid": "0xe41d2d0300e44ed2"}), "infiniband_guids.xeon2zfs", "GU00"},
		"subnet manager on TrueNAS": {append(cfg,
			acctest.Resource{Type: "infiniband_opensm", Name: "nas",
				Attrs: map[string]any{"host": xeon2zfs, "port_guid": acctest.To("infiniband_guids.xeon2zfs", "port_guids", "2")}}),
			"infiniband_opensm.nas", "SM001"},
		"MTU above 9216 on TrueNAS": {cfg.With("infiniband_ipoib_interface.xeon2zfs", map[string]any{"mtu": 65520}),
			"infiniband_ipoib_interface.xeon2zfs", "IP008"},
	} {
		t.Run(name, func(t *testing.T) {
			bad{at: tc.at, want: tc.want}.shows(t, acctest.PhasePlan, plan(t, w.Workspace(), tc.cfg).Diags)
		})
	}
}

func TestPlan_codesOfACardAsItIs(t *testing.T) {
	t.Parallel()
	w, ws, cfg := oneHost(t)
	ethernetOnly := acctest.Config{cfg[0],
		{Type: "infiniband_link_type", Name: intel9,
			Attrs: map[string]any{"card_id": acctest.To(cardAddr, "id"), "ports": map[string]any{"1": "ib"}}}}
	bad{at: links, want: "LT001"}.shows(t, acctest.PhasePlan, plan(t, w.Workspace(), ethernetOnly).Diags)

	apply(t, ws, cfg)
	older := cfg.With(image, map[string]any{"source": w.Image(acctest.ImageOldVPI), "sha256": nil})
	p := plan(t, ws, older)
	bad{at: firmware, path: "allow", want: `downgrade = { from = "2.42.5000", to = "2.36.5000" }`}.shows(t,
		acctest.PhasePlan, p.Diags)
	wrong := older.With(firmware, acctest.Allow("downgrade", map[string]any{"from": "2.40.5000",
		"to": "2.36.5000"}))
	bad{at: firmware, path: "allow", want: "FW026 allow.downgrade names another pair"}.shows(t, acctest.PhasePlan, plan(t, ws, wrong).Diags)

	// With the consent that was printed the older firmware goes in, and comes out
	// again as an update, never as a replacement.
	consented := older.With(firmware,
		acctest.Allow("downgrade", map[string]any{"from": "2.42.5000", "to": "2.36.5000"}))
	if got := plan(t, ws, consented).Actions()[firmware]; got != acctest.Update {
		t.Errorf("the downgrade is planned as %s", got)
	}
	apply(t, ws, consented)
	checkUnchanged(t, ws, consented)
	apply(t, ws, cfg)
	checkUnchanged(t, ws, cfg)
}

// stage puts an image of the lab on the host, as somebody else would.
func stage(t *testing.T, w *acctest.Lab, name string) string {
	t.Helper()
	content, err := os.ReadFile(w.Image(name))
	if err != nil {
		t.Fatal(err)
	}
	w.Machine(intel9).FS.Put("/root/"+name, string(content), 0o600)
	return "/root/" + name
}

// waitUp waits until the host has started.
func waitUp(t *testing.T, w *acctest.Lab) {
	t.Helper()
	for range 200 {
		if out, status := w.Try(intel9, "systemctl is-system-running"); status == 0 && strings.Contains(out, "running") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the host does not come back")
}
