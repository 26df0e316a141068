package acctest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const nvAddress = "infiniband_nv_config.it"

// nv are settings of the card of a host.
func (l *Lab) nv(host string, settings, more map[string]any) Config {
	attrs := map[string]any{"card_id": host + "/" + l.PCI(host), "settings": settings}
	for key, value := range more {
		attrs[key] = value
	}
	return Config{{Type: "infiniband_nv_config", Name: "it", Attrs: attrs}}
}

// stored is what the card of Intel9 has for the next boot, as mstconfig prints it.
func (w *laterCard) stored(name string) string {
	w.t.Helper()
	fields := strings.Fields(w.Run(labs.Intel9, "mstconfig -d 0000:01:00.0 q "+name))
	return fields[len(fields)-1]
}

// asks is how often mstconfig was asked for all layers.
func (w *laterCard) asks() (n int) {
	for _, e := range w.Machine(labs.Intel9).Journal() {
		if path.Base(e.Args[0]) == "mstconfig" && slices.Contains(e.Args, "--enable_verbosity") {
			n++
		}
	}
	return n
}

var someSettings = map[string]any{"SRIOV_EN": "true", "NUM_OF_VFS": "0x10", "LEGACY_BOOT_PROTOCOL": "none",
	"EXP_ROM_UEFI_x86_ENABLE": "1"}

// Settings are stored one by one, wait for a restart, take effect with it, and are given back.
func TestNVConfig_life(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	mustApply(t, w.ws, w.card())
	if n := w.asks(); n != 0 {
		t.Errorf("a card without settings was asked for them %d times", n)
	}
	cfg := w.nv(labs.Intel9, someSettings, nil)
	plan := cleanPlan(t, w.ws, cfg)
	if len(plan.Diags.Warnings().Find("HO011", `activation = "none"`)) != 1 {
		t.Errorf("nothing is said of the restart: %s", plan.Diags)
	}
	const change = "EXP_ROM_UEFI_x86_ENABLE: False(0) -> 1; LEGACY_BOOT_PROTOCOL: PXE(1) -> none; " +
		"NUM_OF_VFS: 8 -> 0x10; SRIOV_EN: False(0) -> true"
	if got := plan.Get(nvAddress, "change"); got != change {
		t.Errorf("the plan changes %v", got)
	}
	applyStep(t, w.ws, plan, "")
	emptyPlan(t, w.ws, cfg)
	for at, want := range map[[2]string]any{{"change"}: change, {"restarts"}: nil, {"reboot_required"}: true,
		{"default", "SRIOV_EN"}: "False(0)", {"current", "SRIOV_EN"}: "False(0)", {"next_boot", "SRIOV_EN"}: "True(1)",
		{"next_boot", "NUM_OF_VFS"}: "16", {"settings", "NUM_OF_VFS"}: "0x10"} {
		steps := []any{at[0]}
		if at[1] != "" {
			steps = append(steps, at[1])
		}
		if got := w.ws.Get(nvAddress, steps...); got != want {
			t.Errorf("%v is %v, want %v", steps, got, want)
		}
	}
	reboot := w.nv(labs.Intel9, someSettings, map[string]any{"activation": "reboot", "on_destroy": "restore"})
	boots := w.Machine(labs.Intel9).Boots()
	w.ws.Provider["hosts"].(map[string]any)[labs.Intel9].(map[string]any)["reboot"] = map[string]any{"allowed": true,
		"drain_commands": []any{"true umount"}}
	plan = cleanPlan(t, w.ws, reboot)
	if got := plan.Get(nvAddress, "change"); got != "no setting; the restart of intel9 is still due" ||
		len(plan.Diags.Warnings().Find("The apply restarts host intel9", "Nothing is stored anew", "- true umount")) != 1 {
		t.Errorf("the plan of the restart changes %v\n%s", got, plan.Diags)
	}
	applyStep(t, w.ws, plan, "")
	emptyPlan(t, w.ws, reboot)
	if got := w.ws.Get(nvAddress, "current", "SRIOV_EN"); got != "True(1)" || w.Machine(labs.Intel9).Boots() != boots+1 ||
		w.ws.Get(nvAddress, "reboot_required") != false || w.ws.Get(nvAddress, "restarts") != labs.Intel9 {
		t.Errorf("after the restart SRIOV_EN is %v", got)
	}
	w.Machine(labs.Intel9).FS.Put(inventory.OwedNote, "2026-01-02 03:04:05 UTC\nsystemctl start a\n", 0o600)
	if owed := mustPlan(t, w.ws, reboot).Diags.Warnings(); len(owed.Find("HO050", "systemctl start a")) != 1 {
		t.Errorf("what a killed apply owes is not named: %s", owed)
	}
	w.Run(labs.Intel9, "rm "+inventory.OwedNote)
	w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set NUM_OF_VFS=4")
	plan = mustPlan(t, w.ws, Config{})
	const back = "EXP_ROM_UEFI_x86_ENABLE: True(1) -> 0; LEGACY_BOOT_PROTOCOL: NONE(0) -> 1; SRIOV_EN: True(1) -> 0."
	if len(plan.Diags.Warnings().Find("The destroy stores earlier settings", back, "NUM_OF_VFS stays 4: it was set to 0x10 here")) != 1 {
		t.Errorf("the plan of a destroy: %s", plan.Diags)
	}
	// What somebody sets after that plan is not replaced by what it has not named.
	w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set NUM_OF_VFS=16")
	if said := applyStep(t, w.ws, plan, "HO019"); !strings.Contains(said, "NUM_OF_VFS was 4 and is 16") || w.stored("SRIOV_EN") != "True(1)" {
		t.Errorf("the destroy says: %s", said)
	}
	w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set NUM_OF_VFS=4")
	plan = mustPlan(t, w.ws, Config{})
	said, err := w.ws.Apply(t.Context(), plan)
	if err != nil || said.HasError() || len(said.Find("NUM_OF_VFS stays 4", "next restart of the host")) != 1 {
		t.Errorf("the destroy: %v, %s", err, said)
	}
	for name, want := range map[string]string{"SRIOV_EN": "False(0)", "NUM_OF_VFS": "4", "LEGACY_BOOT_PROTOCOL": "PXE(1)",
		"EXP_ROM_UEFI_x86_ENABLE": "False(0)"} {
		if got := w.stored(name); got != want {
			t.Errorf("%s is %s after the destroy, want %s", name, got, want)
		}
	}
	if got := w.Run(labs.Intel9, "ls /var/lib/terraform-provider-infiniband/settings"); strings.TrimSpace(got) != "" {
		t.Errorf("values of before are still kept: %s", got)
	}
}

// What the card does not have, and what it cannot take, is refused before anything is written.
func TestNVConfig_refusals(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	for name, tt := range map[string]struct {
		settings map[string]any
		want     []string
	}{
		"a letter": {map[string]any{"SRIOV_ENA": "true"}, []string{"NV001", "does not show SRIOV_ENA for card 0000:01:00.0",
			"near it: SRIOV_EN", "mstconfig -d 0000:01:00.0 q"}},
		"a port forgotten": {map[string]any{"KEEP_IB_LINK_UP": "true"}, []string{"NV001", "near it: KEEP_IB_LINK_UP_P1"}},
		"another order":    {map[string]any{"ENABLE_PXE_EXP_ROM": "true"}, []string{"NV001", "EXP_ROM_PXE_ENABLE"}},
		"nothing near":     {map[string]any{"ZZ": "1"}, []string{"NV001", "does not show ZZ"}},
		"no bool":          {map[string]any{"SRIOV_EN": "2"}, []string{"NV002", `SRIOV_EN = "2": it takes true or false`}},
		"no number":        {map[string]any{"NUM_OF_VFS": "many"}, []string{"NV002", "it takes a number; the card has 8"}},
		"too much":         {map[string]any{"BOOT_PKEY": "0x10000"}, []string{"NV002", "it takes numbers up to 65535"}},
		"no word":          {map[string]any{"LEGACY_BOOT_PROTOCOL": "HTTP"}, []string{"NV002", "it takes NONE, PXE, ISCSI, "}},
		"a list":           {map[string]any{"HOST_CHAINING_DESCRIPTORS": "1"}, []string{"NV002", "it is a list of values"}},
		"link type": {map[string]any{"LINK_TYPE_P1": "IB"}, []string{"Invalid setting LINK_TYPE_P1",
			"belongs to infiniband_link_type"}},
		"small letters": {map[string]any{"sriov_en": "true"}, []string{`"sriov_en" is not the name of a setting`}},
		"two words":     {map[string]any{"SRIOV_EN": "true false"}, []string{"want one word or number"}},
	} {
		said := mustPlan(t, w.ws, w.nv(labs.Intel9, tt.settings, nil)).Diags.Errors()
		if len(said.Find(tt.want...)) != 1 || len(said) != 1 {
			t.Errorf("%s:\n%s", name, said)
		}
	}
	both := append(w.nv(labs.Intel9, someSettings, nil), w.nv(labs.Intel9, map[string]any{"BOOT_PKEY": "1"}, nil)...)
	both[1].Name = "other"
	if said := mustPlan(t, w.ws, both).Diags.Errors(); len(said.Find("HO030")) != 1 {
		t.Errorf("two resources of one card:\n%s", said)
	}
	w.Run(labs.Intel9, "mv $(command -v mstconfig) /root/away")
	if said := mustPlan(t, w.ws, w.nv(labs.Intel9, someSettings, nil)).Diags.Errors(); len(said.Find("NV003",
		"mstconfig is not installed", "install mstflint")) != 1 {
		t.Errorf("without the tool:\n%s", said)
	}
	if n := len(w.ws.State); n != 0 {
		t.Errorf("%d objects are in the state", n)
	}
}

// The tool refuses the second of two settings. The first stays stored. The next apply does the rest, and a
// destroy gives back what was there before the first one.
func TestNVConfig_interrupted(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	cfg := func(vfs string) Config {
		return w.nv(labs.Intel9, map[string]any{"BOOT_PKEY": "0x8001", "NUM_OF_VFS": vfs}, map[string]any{"on_destroy": "restore"})
	}
	plan := cleanPlan(t, w.ws, cfg("200"))
	said, err := w.ws.Apply(t.Context(), plan)
	if err != nil || len(said.Errors().Find("Unable to set settings of card intel9/0000:01:00.0", "mstconfig failed at NUM_OF_VFS",
		"larger than maximum allowed 127", "Settings that were set before this one stay stored")) != 1 {
		t.Errorf("the apply: %v, %s", err, said)
	}
	if got := w.stored("BOOT_PKEY"); got != "32769" {
		t.Errorf("BOOT_PKEY is %s", got)
	}
	plan = cleanPlan(t, w.ws, cfg("100"))
	if got := plan.Get(nvAddress, "change"); got != "NUM_OF_VFS: 8 -> 100" {
		t.Errorf("the next plan changes %v", got)
	}
	applyStep(t, w.ws, plan, "")
	emptyPlan(t, w.ws, cfg("100"))
	if said, err = w.ws.Apply(t.Context(), mustPlan(t, w.ws, Config{})); err != nil || said.HasError() {
		t.Fatalf("the destroy: %v, %s", err, said)
	}
	if a, b := w.stored("BOOT_PKEY"), w.stored("NUM_OF_VFS"); a != "0" || b != "8" {
		t.Errorf("after the destroy BOOT_PKEY is %s, and NUM_OF_VFS %s", a, b)
	}
}

// What somebody sets by hand shows in a plan. It is not overwritten if it came after the plan. A card that
// does not answer keeps what the state has.
func TestNVConfig_drift(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	cfg := w.nv(labs.Intel9, someSettings, nil)
	mustApply(t, w.ws, cfg)
	byHand := func(value string) { w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set NUM_OF_VFS="+value) }
	byHand("4")
	plan := cleanPlan(t, w.ws, cfg)
	if got := plan.Get(nvAddress, "change"); got != "NUM_OF_VFS: 4 -> 0x10" {
		t.Errorf("the plan changes %v", got)
	}
	byHand("5")
	if said := applyStep(t, w.ws, plan, "HO019"); !strings.Contains(said, "NUM_OF_VFS was 4 and is 5") {
		t.Errorf("the apply says: %s", said)
	}
	mustApply(t, w.ws, cfg)
	emptyPlan(t, w.ws, cfg)
	w.Run(labs.Intel9, "mv $(command -v mstconfig) /root/away")
	if said := emptyPlan(t, w.ws, cfg).Diags; len(said.Warnings().Find("its settings could not be read",
		"mstconfig is not installed")) != 1 {
		t.Errorf("without the tool: %s", said)
	}
}

// A card that says that only a power cycle loads its settings is not restarted in vain.
func TestNVConfig_powerCycle(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.Machine(labs.Intel9).Cards()[0].PowerCycle = true
	boots := w.Machine(labs.Intel9).Boots()
	said := mustApply(t, w.ws, w.nv(labs.Intel9, someSettings, map[string]any{"activation": "reboot"}))
	if len(said.Warnings().Find("NV004", "Switch the machine off")) != 1 || w.Machine(labs.Intel9).Boots() != boots {
		t.Errorf("the apply says: %s", said)
	}
}

// An import takes what differs from the firmware's defaults.
func TestNVConfig_import(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set SRIOV_EN=1 LEGACY_BOOT_PROTOCOL=0")
	cfg := w.nv(labs.Intel9, map[string]any{"SRIOV_EN": "true", "LEGACY_BOOT_PROTOCOL": "NONE"}, nil)
	said, err := w.ws.Import(t.Context(), cfg[0], labs.Intel9+"/0000:01:00.0")
	if err != nil || said.HasError() {
		t.Fatalf("import: %v, %s", err, said)
	}
	emptyPlan(t, w.ws, cfg)
}

// A ConnectX-3 does not show its current values. After a restart it has what was stored.
func TestNVConfig_ConnectX3(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: boughtHost(configurable)})
	ws := w.Workspace()
	cfg := w.nv(labs.Intel9, map[string]any{"NUM_OF_VFS": "4", "BOOT_OPTION_ROM_EN_P1": "false"},
		map[string]any{"activation": "reboot", "on_destroy": "restore"})
	boots := w.Boots(labs.Intel9)
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	wide := mustPlan(t, ws, w.nv(labs.Intel9, map[string]any{"BOOT_PKEY_P1": "0x80011"}, nil)).Diags.Errors()
	if len(wide.Find("NV002", "it takes numbers up to 65535")) != 1 {
		t.Errorf("a P_Key of more than 16 bits: %s", wide)
	}
	if w.Boots(labs.Intel9) != boots+1 || ws.Get(nvAddress, "reboot_required") != false ||
		ws.Get(nvAddress, "next_boot", "NUM_OF_VFS") != "4" {
		t.Errorf("started %d times, %v", w.Boots(labs.Intel9)-boots, ws.Get(nvAddress, "next_boot"))
	}
	w.Run(labs.Intel9, "mstconfig -y -d "+w.PCI(labs.Intel9)+" set NUM_OF_VFS=6")
	if got := cleanPlan(t, ws, cfg).Get(nvAddress, "change"); got != "NUM_OF_VFS: 6 -> 4" {
		t.Errorf("drift: the plan changes %v", got)
	}
	mustApply(t, ws, cfg)
	if said, err := ws.Apply(t.Context(), mustPlan(t, ws, Config{})); err != nil || said.HasError() {
		t.Fatalf("the destroy: %v, %s", err, said)
	}
	left := w.Run(labs.Intel9, "mstconfig -d "+w.PCI(labs.Intel9)+" q NUM_OF_VFS BOOT_OPTION_ROM_EN_P1")
	if fields := strings.Fields(left); !slices.Contains(fields, "8") || !slices.Contains(fields, "True(1)") {
		t.Errorf("after the destroy the card has\n%s", left)
	}
}

// A ConnectX-3 does not show what it has now. What this provider has set since the start of the host waits for a
// restart all the same, whatever ended the apply before it.
func TestNVConfig_ConnectX3_owes_a_restart(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{"the restart was refused": "reboot", "another resource restarts": "host"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: boughtHost(configurable)})
			ws, boots := w.Workspace(), w.Boots(labs.Intel9)
			cfg := w.nv(labs.Intel9, map[string]any{"NUM_OF_VFS": "4"}, map[string]any{"activation": leave})
			w.Machine(labs.Intel9).Faults.Trap("--on-active=2s", 1, labsim.ProgramFault{Exit: true, Status: 1})
			said, err := ws.Apply(t.Context(), cleanPlan(t, ws, cfg))
			if err != nil || said.HasError() != (leave == "reboot") {
				t.Fatalf("apply: %v\n%s", err, said)
			}
			if leave == "host" {
				cfg = append(cfg, activation(labs.Intel9, nvAddress))
			}
			plan := cleanPlan(t, ws, cfg)
			if leave == "host" {
				if got := plan.Get("infiniband_activation.it", "change"); got != "activates settings of 0000:01:00.0" {
					t.Errorf("the plan: %v", got)
				}
				w.Machine(labs.Intel9).Faults.Clear()
			} else if plan.Actions()[nvAddress] == NoOp {
				t.Errorf("nothing is planned:\n%s", plan.Diags)
			}
			applyStep(t, ws, plan, "")
			if n := w.Boots(labs.Intel9) - boots; n != 1 {
				t.Errorf("%d restarts", n)
			}
			emptyPlan(t, ws, cfg)
			if got := ws.Get(nvAddress, "reboot_required"); got != false {
				t.Errorf("reboot_required: %v", got)
			}
		})
	}
}

// A restart is not announced for what only a power cycle loads, and settings are left to a start of the host.
func TestNVConfig_and_activation(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	cfg := w.nv(labs.Intel9, someSettings, map[string]any{"activation": "host"})
	all := slices.Concat(cfg, Config{leastActivation(labs.Intel9, nvAddress)})
	plan := cleanPlan(t, w.ws, all)
	if said := plan.Diags.Warnings(); len(said.Find("HO011")) != 0 {
		t.Errorf("the plan warns of a restart that it announces:\n%s", said)
	}
	if got := plan.Get("infiniband_activation.it", "way"); got != "restart of the host: 0000:01:00.0: settings of a card may "+
		"need other PCI resources, which only a start of the host gives out" {
		t.Errorf("way: %v", got)
	}
	boots := w.Boots(labs.Intel9)
	applyStep(t, w.ws, plan, "")
	emptyPlan(t, w.ws, all)
	if n := w.Boots(labs.Intel9) - boots; n != 1 || w.ws.Get(nvAddress, "reboot_required") != false {
		t.Errorf("%d restarts", n)
	}
	w.Card(labs.Intel9).PowerCycle = true
	more := w.nv(labs.Intel9, map[string]any{"NUM_OF_VFS": "20"}, map[string]any{"activation": "host"})
	if said := mustApply(t, w.ws, append(more, all[1])).Warnings(); len(said.Find("NV004")) != 1 {
		t.Errorf("a power cycle is not named:\n%s", said)
	}
	if n := w.Boots(labs.Intel9) - boots; n != 1 {
		t.Errorf("%d restarts", n)
	}
}

// A tool that does not serve the card any more is not run.
func TestNVConfig_unservedCard(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: boughtHost()})
	cfg := w.nv(labs.Intel9, map[string]any{"NUM_OF_VFS": "4"}, nil)
	if said := mustPlan(t, w.Workspace(), cfg).Diags.Errors(); len(said.Find("NV003", "support of ConnectX-3 was removed in 4.26.0",
		"a release up to 4.25")) != 1 {
		t.Errorf("with a later tool:\n%s", said)
	}
}

// Another version of the tool has other names, and prints other columns.
func TestNVConfig_laterTool(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.Machine(labs.Intel9).Tools["mstflint"] = "4.31.0"
	cfg := func(name string) Config {
		return w.nv(labs.Intel9, map[string]any{name: "_2", "ATS_ENABLED": "true"}, nil)
	}
	if said := mustPlan(t, w.ws, cfg("BOOT_RETRY_CNT")).Diags.Errors(); len(said.Find("NV001", "mstflint 4.31.0 does not show",
		"near it: BOOT_RETRY_CNT1")) != 1 {
		t.Errorf("a name of an earlier tool:\n%s", said)
	}
	mustApply(t, w.ws, cfg("BOOT_RETRY_CNT1"))
	emptyPlan(t, w.ws, cfg("BOOT_RETRY_CNT1"))
}

// settingFindings are the cases of the family NV.
func settingFindings() []findingCase {
	connectX4 := func() []labs.Host { return []labs.Host{labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)} }
	set := func(name, value string) func(*Lab) Config {
		return func(w *Lab) Config { return w.nv(labs.Intel9, map[string]any{name: value}, nil) }
	}
	return []findingCase{
		{code: "NV001", at: "settings", hosts: connectX4, says: []string{"near it: SRIOV_EN"}, config: set("SRIO_EN", "true")},
		{code: "NV002", at: "settings", hosts: connectX4, says: []string{"it takes true or false"}, config: set("SRIOV_EN", "on")},
		{code: "NV003", at: "card_id", says: []string{"mstconfig of intel9"}, config: set("NUM_OF_VFS", "1")},
	}
}

// sets is how often mstconfig has set something.
func (w *laterCard) sets() (n int) {
	for _, e := range w.Machine(labs.Intel9).Journal() {
		if path.Base(e.Args[0]) == "mstconfig" && slices.Contains(e.Args, "set") {
			n++
		}
	}
	return n
}

// What replaces the resource gives nothing back: no plan has announced that, and the new resource wants what the card
// has. A destroy still knows what was there before the first change.
func TestNVConfig_a_replace_gives_nothing_back(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	cfg := w.nv(labs.Intel9, map[string]any{"NUM_OF_VFS": "0x10"}, map[string]any{"activation": "reboot", "on_destroy": "restore"})
	o := newOperator(t, w.Lab, cfg, buildProvider(t))
	o.says(0, "apply", "-auto-approve")
	renamed := slices.Clone(cfg)
	renamed[0].Name = "other"
	o.write("main.tf", Required+HCL(w.Provider(), renamed))
	if said := o.says(1, "plan"); !strings.Contains(said, "BK007") || !strings.Contains(said, "moved block") {
		t.Errorf("another name says: %s", said)
	}
	head := `resource "infiniband_nv_config" "it" {`
	o.write("main.tf", strings.Replace(Required+HCL(w.Provider(), cfg), head, head+"\nlifecycle { create_before_destroy = true }", 1))
	sets, boots := w.sets(), w.Boots(labs.Intel9)
	o.says(2, "plan", "-replace="+nvAddress, "-out=saved", "-detailed-exitcode")
	if said := o.says(0, "apply", "saved"); !strings.Contains(said, "Not given back: settings of card intel9/0000:01:00.0") {
		t.Errorf("the replace says: %s", said)
	}
	o.says(0, "taint", nvAddress)
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	if n, b := w.sets()-sets, w.Boots(labs.Intel9)-boots; n != 0 || b != 0 || w.stored("NUM_OF_VFS") != "16" {
		t.Errorf("the replaces set %d times, restarted %d times: %s", n, b, w.stored("NUM_OF_VFS"))
	}
	o.says(0, "destroy", "-auto-approve")
	if got := w.stored("NUM_OF_VFS"); got != "8" {
		t.Errorf("after the destroy NUM_OF_VFS is %s", got)
	}
}
