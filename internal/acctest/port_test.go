package acctest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// port is a configuration of port 1 of the Ubuntu host.
func (w *Lab) port(attrs map[string]any) Config {
	all := map[string]any{"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "port": 1}
	return Config{Resource{Type: "infiniband_port", Name: "it", Attrs: all}.With(attrs)}
}

func portFindings() []findingCase {
	const ubuntu = labs.Intel9
	wants := func(attrs map[string]any) func(*Lab) Config {
		return func(w *Lab) Config { return w.port(attrs) }
	}
	diags := func(w *Lab) {
		drivers(w)
		w.Install(ubuntu, "infiniband-diags")
	}
	off := map[string]any{"enabled": false}
	return []findingCase{
		{code: "PO001", only: "TrueNAS", at: "card_id", says: []string{"TrueNAS", "ibportstate"}, prepare: drivers,
			config: func(w *Lab) Config {
				return w.port(map[string]any{"card_id": labs.Xeon2zfs + "/" + w.PCI(labs.Xeon2zfs)})
			}},
		{code: "PF006", at: "port", says: []string{"no RDMA port at all"}, config: wants(nil),
			prepare: func(w *Lab) { w.unbind(ubuntu) }},
		{code: "PF007", at: "port", says: []string{"infiniband_link_type"}, config: wants(nil), prepare: ethernet},
		{code: "PO004", only: "IPoIB interfaces beside a fabric", at: "allow",
			says: []string{"The default route of intel9 goes over ibp1s0",
				`management_path = ["ibp1s0"]`}, config: wants(off), prepare: func(w *Lab) {
				diags(w)
				w.Run(ubuntu, "ip addr add 198.51.100.2/24 dev ibp1s0 && ip link set dev ibp1s0 up && ip route replace default via 198.51.100.1 dev ibp1s0")
			}},
		{code: "HO009", at: "port", says: []string{"port 1"}, config: wants(off), prepare: func(w *Lab) {
			diags(w)
			w.Install(ubuntu, "opensm")
		}},
		{code: "PO006", at: "speeds", says: []string{"HDR"}, prepare: diags,
			config: wants(map[string]any{"speeds": []any{"SDR", "HDR"}})},
		{code: "HO035", says: []string{"/usr/local/sbin/terraform-infiniband-port"}, config: wants(nil),
			prepare: func(w *Lab) {
				diags(w)
				w.Put(ubuntu, "/usr/local/sbin/terraform-infiniband-port", "#!/bin/sh\n# mine\n")
			}},
		{code: "HO034", says: []string{"infiniband-port-0000:01:00.0-1.service also has: Nice (value not shown)", "systemctl edit"},
			config: wants(nil), prepare: func(w *Lab) {
				diags(w)
				w.Put(ubuntu, "/etc/systemd/system/infiniband-port-0000:01:00.0-1.service", "# Managed by Terraform "+
					"(ibfabric/infiniband). Written by infiniband_port.\nNice=5\n")
			}},
		{code: "PO012", at: "port", says: []string{"Down Disabled", "Can't open UMAD port"}, prepare: func(w *Lab) {
			diags(w)
			w.Unplug(ubuntu, 2)
			w.Run(ubuntu, "ibportstate -D 0 1 disable")
		}, hosts: func() []labs.Host { return vpi(debian13) }, config: wants(map[string]any{"speeds": []any{"SDR"}})},
		{code: "PO013", only: "a file of the kernel that cannot be read", at: "enabled",
			says: []string{"port 1", "its phys_state cannot be read"}, config: wants(nil), prepare: func(w *Lab) {
				diags(w)
				w.unreadPhysical()
			}},
	}
}

// physical is the physical state of port 1 of the Ubuntu host, from the kernel.
func (w *Lab) physical() string {
	return strings.TrimSpace(w.Run(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/infiniband/*/ports/1/phys_state"))
}

// unreadPhysical makes the physical state of port 1 of the Ubuntu host unreadable until its
// next restart.
func (w *Lab) unreadPhysical() {
	w.Machine(labs.Intel9).FS.PutDynamic("/sys/class/infiniband/"+w.Card(labs.Intel9).RDMA+"/ports/1/phys_state", 0o444,
		func() (string, error) { return "", syscall.EIO }, nil)
}

// A port is switched off and on again, now and at boot; what others change is
// seen and mended; the state can be lost.
func TestPort_life(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	off, on := w.port(map[string]any{"enabled": false}), w.port(nil)
	mustApply(t, ws, off)
	if got := w.physical(); got != "3: Disabled" {
		t.Fatalf("the port is %q after it was disabled", got)
	}
	emptyPlan(t, ws, off)
	w.Restart(labs.Intel9)
	if got := w.physical(); got != "3: Disabled" {
		t.Errorf("after a restart the port is %q", got)
	}
	emptyPlan(t, ws, off)
	mustApply(t, ws, on)
	if got := w.physical(); got != "5: LinkUp" {
		t.Errorf("the port is %q after it was enabled", got)
	}
	w.Run(labs.Intel9, "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 disable")
	if changes := cleanPlan(t, ws, on).Changes; len(changes) != 1 || changes[0].Action != Update {
		t.Errorf("the drift is not planned: %v", changes)
	}
	mustApply(t, ws, on)
	emptyPlan(t, ws, on)
	// What the unit runs is a part of the setting.
	for _, harm := range []string{"rm", "chmod 644"} {
		w.Run(labs.Intel9, harm+" /usr/local/sbin/terraform-infiniband-port")
		if plan := cleanPlan(t, ws, on); plan.Actions()["infiniband_port.it"] != Update {
			t.Errorf("after %s the plan is %v", harm, plan.Actions())
		}
		if got := ws.Get("infiniband_port.it", "at_boot"); got != false {
			t.Errorf("after %s at_boot is %v", harm, got)
		}
		mustApply(t, ws, on)
		emptyPlan(t, ws, on)
	}
	lost := w.Workspace()
	diags, err := lost.Import(context.Background(), on[0], fmt.Sprintf("%s/%s/1", labs.Intel9, w.PCI(labs.Intel9)))
	if err != nil || diags.HasError() {
		t.Fatalf("import: %v\n%s", err, diags)
	}
	emptyPlan(t, lost, on)
	// So is the program that this needs. A destroy needs none.
	w.Machine(labs.Intel9).Uninstall("/usr/sbin/ibportstate")
	plan := cleanPlan(t, lost, on)
	if got := lost.Get("infiniband_port.it", "at_boot"); got != false || plan.Actions()["infiniband_port.it"] != Update ||
		!strings.HasPrefix(fmt.Sprint(plan.Get("infiniband_port.it", "change")), "installs infiniband-diags; writes ") {
		t.Errorf("without ibportstate at_boot is %v, the plan is %v\n%s", got, plan.Actions(), plan.Diags)
	}
	diags = mustApply(t, lost, nil)
	if len(diags.Warnings().Find("Port intel9/0000:01:00.0/1")) != 1 {
		t.Errorf("the destroy does not say what stays of the port:\n%s", diags)
	}
	if out := w.Run(labs.Intel9, "ls /etc/systemd/system /usr/local/sbin"); strings.Contains(out, "infiniband-port") {
		t.Errorf("left on the host:\n%s", out)
	}
}

// Speeds are set where they are asked for, and a speed that is drifted back.
func TestPort_speeds(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	slow := w.port(map[string]any{"speeds": []any{"SDR", "DDR"}})
	mustApply(t, ws, slow)
	emptyPlan(t, ws, slow)
	rate := strings.TrimSpace(w.Run(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/infiniband/*/ports/1/rate"))
	if rate != "20 Gb/sec (4X DDR)" {
		t.Errorf("the link runs at %q", rate)
	}
	w.Run(labs.Intel9, "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 speed 7")
	if changes := cleanPlan(t, ws, slow).Changes; len(changes) != 1 || changes[0].Action != Update {
		t.Errorf("the drift is not planned: %v", changes)
	}
	mustApply(t, ws, slow)
	emptyPlan(t, ws, slow)
}

// While a port is something else than its unit says, each refresh shows the same of the two.
func TestPort_shows_the_same_at_each_refresh(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	cfg := w.port(map[string]any{"speeds": []any{"SDR", "DDR"}})
	mustApply(t, ws, cfg)
	const state = "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 "
	w.Run(labs.Intel9, state+"speed 7 && "+state+"disable")
	for range 3 {
		cleanPlan(t, ws, cfg)
		speeds := fmt.Sprint(ws.Get("infiniband_port.it", "speeds"))
		if ws.Get("infiniband_port.it", "enabled") != false || speeds != "[SDR DDR QDR]" {
			t.Errorf("the state has enabled = %v and speeds = %s", ws.Get("infiniband_port.it", "enabled"), speeds)
		}
	}
	mustApply(t, ws, cfg)
	unit := fmt.Sprint("/etc/systemd/system/", ws.Get("infiniband_port.it", "unit"))
	text := w.Run(labs.Intel9, "cat "+unit)
	w.Machine(labs.Intel9).FS.Put(unit, strings.Replace(text, " enable 3 ", " enable 1 ", 1), 0o644)
	for range 3 {
		cleanPlan(t, ws, cfg)
		if speeds := fmt.Sprint(ws.Get("infiniband_port.it", "speeds")); speeds != "[SDR]" {
			t.Errorf("the state has speeds = %s, and the unit says SDR", speeds)
		}
	}
	mustApply(t, ws, cfg)
	w.Machine(labs.Intel9).FS.Put(unit, strings.Replace(text, "ExecStart=/usr/local/sbin/terraform-infiniband-port",
		"ExecStart=/bin/true", 1), 0o644)
	for range 2 {
		plan := cleanPlan(t, ws, cfg)
		if ws.Get("infiniband_port.it", "at_boot") != false || ws.Get("infiniband_port.it", "enabled") != true ||
			plan.Actions()["infiniband_port.it"] != Update || len(plan.Diags.Find("HO034", unit)) != 1 {
			t.Errorf("a unit that sets nothing: %v, at_boot = %v, enabled = %v\n%s", plan.Actions(),
				ws.Get("infiniband_port.it", "at_boot"), ws.Get("infiniband_port.it", "enabled"), plan.Diags)
		}
	}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
}

// What somebody has done to a port or to the types of a card after the plan is not undone by
// it; the next plan shows it and is applied.
func TestPort_changedAfterThePlan(t *testing.T) {
	t.Parallel()
	const host, unit = labs.Intel9, "/etc/systemd/system/infiniband-port-0000:01:00.0-1.service"
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	w.Install(host, "infiniband-diags")
	ws := w.Workspace()
	types := func(first, second string) Config { return w.types(host, first, second) }
	slow := append(types("ib", "eth"), w.port(map[string]any{"speeds": []any{"SDR", "DDR"}})...)
	mustApply(t, ws, append(types("ib", "eth"), w.port(nil)...))
	refused := func(plan *Plan, says string) {
		t.Helper()
		if diags, err := ws.Apply(context.Background(), plan); err != nil || len(diags.Errors().Find("HO019", says)) != 1 {
			t.Errorf("not refused, %s: %v\n%s", says, err, diags)
		}
	}
	// The port.
	plan := cleanPlan(t, ws, slow)
	w.Run(host, "ibportstate -D 0 1 disable")
	w.Put(host, unit, w.Run(host, "cat "+unit)+"# ask Kim\n")
	refused(plan, "it was enabled and is disabled; new line in "+unit+": # ask Kim")
	if w.physical() != "3: Disabled" {
		t.Errorf("the port was enabled: %s", w.physical())
	}
	plan = mustPlan(t, ws, slow)
	if len(plan.Diags.Warnings().Find("HO034", "# ask Kim")) != 1 {
		t.Errorf("the plan does not name the line:\n%s", plan.Diags)
	}
	mustApply(t, ws, slow)
	if got := w.Run(host, "cat /etc/systemd/system/.infiniband-port-*.changed-*"); !strings.Contains(got, "# ask Kim") {
		t.Errorf("the unit is not kept:\n%s", got)
	}
	// Its unit, at a destroy.
	plan = mustPlan(t, ws, types("ib", "eth"))
	w.Put(host, unit, w.Run(host, "cat "+unit)+"# ask Lee\n")
	refused(plan, "# ask Lee")
	mustApply(t, ws, types("ib", "eth"))
	if got := w.Run(host, "cat /etc/systemd/system/.infiniband-port-*.changed-*"); !strings.Contains(got, "# ask Lee") {
		t.Errorf("the unit is not kept by a destroy:\n%s", got)
	}
	// The types.
	plan = cleanPlan(t, ws, types("ib", "ib"))
	w.Run(host, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port1")
	refused(plan, "port 1 was ib and is eth")
	mustApply(t, ws, types("ib", "ib"))
	emptyPlan(t, ws, types("ib", "ib"))
}

// An id that names a place does not give the settings of one card to another one in the
// same slot: not a saved plan, not the next one.
func TestPort_exchanged(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	host := labs.Intel9
	drivers(w)
	w.Install(host, "infiniband-diags")
	ws, serial := w.Workspace(), w.Card(host).Config.SerialNumber
	on, off := w.port(nil), w.port(map[string]any{"enabled": false})
	mustApply(t, ws, on)
	emptyPlan(t, ws, on)
	if who := fmt.Sprint(ws.Get("infiniband_port.it", "card_identity")); !strings.Contains(who, serial) {
		t.Errorf("card_identity %q", who)
	}
	guid := ws.Get("infiniband_port.it", "port_guid")
	saved := mustPlan(t, ws, off)
	exchange(t, w, host)
	before := w.physical()

	refused := func(when string, said Diags) {
		t.Helper()
		if e := said.Errors(); len(e.Find("FW080")) == 0 || len(e.Find(serial)) == 0 || len(e.Find(twinSerial)) == 0 {
			t.Errorf("%s:\n%s", when, said)
		}
	}
	said, err := ws.Apply(t.Context(), saved)
	if err != nil {
		t.Fatal(err)
	}
	refused("saved plan", said)
	refused("next plan", mustPlan(t, ws, off).Diags)
	refused("plan without a change", mustPlan(t, ws, on).Diags)
	if got := ws.Get("infiniband_port.it", "port_guid"); got != guid {
		t.Errorf("the refresh has recorded the other card: %v", got)
	}
	if now := w.physical(); now != before {
		t.Errorf("the port of the other card was %s and is %s", before, now)
	}
	named := off.With("infiniband_port.it", map[string]any{"card_id": host + "/" + w.PCI(host) + "/" + twinSerial})
	plan := mustPlan(t, ws, named)
	if plan.Diags.HasError() || plan.Actions()["infiniband_port.it"] != Replace {
		t.Errorf("the new card is named: %s, %s", plan.Actions()["infiniband_port.it"], plan.Diags)
	}
}

// A port of which the kernel does not show whether it is enabled is neither taken for enabled
// nor for set.
func TestPort_unread(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("a file of the kernel that cannot be read")
	drivers(w)
	ws, on := w.Workspace(), w.port(nil)
	mustApply(t, ws, on)
	w.Run(labs.Intel9, "ibportstate -C $(ls /sys/bus/pci/devices/0000:01:00.0/infiniband) -P 1 -D 0 1 disable")
	w.unreadPhysical()
	plan := mustPlan(t, ws, on)
	if plan.Diags.HasError() || plan.Actions()["infiniband_port.it"] != Update ||
		len(plan.Diags.Warnings().Find("PO013", "its phys_state cannot be read")) != 1 {
		t.Errorf("the plan is %v\n%s", plan.Actions(), plan.Diags)
	}
	if got := ws.Get("infiniband_port.it", "enabled"); got != nil {
		t.Errorf("the state has enabled = %v", got)
	}
	said, err := ws.Apply(t.Context(), plan)
	if err != nil || len(said.Errors().Find("whether it is enabled is not known")) != 1 {
		t.Errorf("the port counts as set: %v\n%s", err, said)
	}
	if got := w.Card(labs.Intel9).Ports[0].View().PhysState; got != labsim.PhysLinkUp {
		t.Errorf("the apply has not enabled the port: %d", got)
	}
	lost := w.Workspace()
	said, err = lost.Import(t.Context(), on[0], labs.Intel9+"/"+w.PCI(labs.Intel9)+"/1")
	if got := lost.Get("infiniband_port.it", "enabled"); err != nil || said.HasError() || got != nil {
		t.Errorf("imported with enabled = %v: %v\n%s", got, err, said)
	}
	w.Restart(labs.Intel9) // which can be read again
	emptyPlan(t, ws, on)
	if got := ws.Get("infiniband_port.it", "enabled"); got != true {
		t.Errorf("the state has enabled = %v", got)
	}
}

// portDisabled reports whether port 1 of the card in the slot of the Ubuntu host is disabled.
func (w *Lab) portDisabled() bool {
	return w.Card(labs.Intel9).Ports[0].View().PhysState == labsim.PhysDisabled
}

// A boot sets no port of another card, and says so. The right one is set wherever it shows who
// it is: by its serial number, and by its node GUID where that cannot be read.
func TestPort_boot_of_another_card(t *testing.T) {
	t.Parallel()
	const host, unit = labs.Intel9, "infiniband-port-0000:01:00.0-1.service"
	w := Start(t, Options{Hosts: vpi()[:1]})
	w.needSimulated("cards that change slots")
	drivers(w)
	w.Install(host, "infiniband-diags")
	ws, off := w.Workspace(), w.port(map[string]any{"enabled": false})
	mustApply(t, ws, off)
	own := exchange(t, w, host)
	if w.portDisabled() {
		t.Error("the boot has disabled the port of another card")
	}
	if said := w.Run(host, "journalctl -u "+unit); !strings.Contains(said, "nothing is set: 0000:01:00.0 has the card with "+
		"serial number "+twinSerial) {
		t.Errorf("the journal says\n%s", said)
	}
	if said, _ := w.Try(host, "systemctl is-active "+unit); said != "failed\n" {
		t.Errorf("the unit is %q", said)
	}
	if plan := mustPlan(t, ws, off); len(plan.Diags.Errors().Find("FW080")) == 0 {
		t.Errorf("the exchange is not refused:\n%s", plan.Diags)
	}
	named := off.With("infiniband_port.it", map[string]any{"card_id": host + "/" + w.PCI(host) + "/" + twinSerial})
	ws = w.Workspace()
	mustApply(t, ws, named)
	w.Restart(host)
	if emptyPlan(t, ws, named); !w.portDisabled() {
		t.Error("the boot has not disabled the port of the new card")
	}
	if _, err := w.Machine(host).Exchange(w.PCI(host), own); err != nil {
		t.Fatal(err)
	}
	if w.portDisabled() {
		t.Error("the boot has disabled the port of the former card")
	}
}

// New GUIDs do not make a card another one where its serial number is read. Where it is not,
// the next boot sets nothing, and the next plan shows that and mends it.
func TestPort_boot_with_new_GUIDs(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	for name, vpd := range map[string]bool{"serial number": true, "no serial number": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()[:1]})
			w.needSimulated("cards without vital product data")
			if !vpd {
				w.Card(host).Config.PartNumber = "" // lspci shows none from now on
			}
			drivers(w)
			ws, off := w.Workspace(), w.port(map[string]any{"enabled": false})
			mustApply(t, ws, off)
			w.Restart(host)
			if emptyPlan(t, ws, off); !w.portDisabled() {
				t.Error("the boot has not disabled the port")
			}
			guid := w.Run(host, "cat /sys/class/infiniband/*/node_guid")
			// The system GUID stays, and so do the MACs, which tell who the card is.
			w.Run(host, "mstflint -y -d 01:00.0 -guids 0xe41d2d0300e47770 0xe41d2d0300e47771 0xe41d2d0300e47772 0xe41d2d0300e44ed3 sg")
			w.Restart(host)
			if w.Run(host, "cat /sys/class/infiniband/*/node_guid") == guid {
				t.Fatal("the node GUID is the same")
			}
			if vpd {
				if emptyPlan(t, ws, off); !w.portDisabled() {
					t.Error("the boot has not disabled the port with new GUIDs")
				}
				return
			}
			if w.portDisabled() {
				t.Error("the boot has disabled a port of a card that nothing names")
			}
			if plan := cleanPlan(t, ws, off); plan.Actions()["infiniband_port.it"] != Update ||
				ws.Get("infiniband_port.it", "at_boot") != false {
				t.Errorf("the plan is %v, at_boot = %v", plan.Actions(), ws.Get("infiniband_port.it", "at_boot"))
			}
			mustApply(t, ws, off)
			w.Restart(host)
			if emptyPlan(t, ws, off); !w.portDisabled() {
				t.Error("the boot has not disabled the port again")
			}
		})
	}
}

// What an earlier version has written names no card. It is one update, and nobody's edit.
func TestPort_unit_of_an_earlier_version(t *testing.T) {
	t.Parallel()
	const host, unit, program = labs.Intel9, "/etc/systemd/system/infiniband-port-0000:01:00.0-1.service",
		"/usr/local/sbin/terraform-infiniband-port"
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws, on := w.Workspace(), w.port(nil)
	mustApply(t, ws, on)
	newUnit, newProgram := w.Run(host, "cat "+unit), w.Run(host, "cat "+program)
	formerUnit := regexp.MustCompile(`(?m)^(ExecStart=.*)( \S+ \S+)$`).ReplaceAllString(newUnit, "$1")
	formerProgram := regexp.MustCompile(`(?s)\n# \$7 .*?\nports=`).ReplaceAllString(newProgram, "\nports=")
	formerProgram = regexp.MustCompile(`(?s)\n  # Whatever happens, .*?\nfi\n`).ReplaceAllString(formerProgram,
		"\n  set_port disable\n  sleep 1\nfi\n")
	if formerUnit == newUnit || formerProgram == newProgram {
		t.Fatalf("the files are those of the earlier version:\n%s\n%s", newUnit, newProgram)
	}
	w.Run(host, fmt.Sprintf("cat >%s <<'END'\n%sEND\ncat >%s <<'END'\n%sEND\n", unit, formerUnit, program, formerProgram))
	plan := cleanPlan(t, ws, on)
	if plan.Actions()["infiniband_port.it"] != Update || ws.Get("infiniband_port.it", "at_boot") != false {
		t.Errorf("the plan is %v, at_boot = %v", plan.Actions(), ws.Get("infiniband_port.it", "at_boot"))
	}
	if said := plan.Diags.Find("HO034"); len(said) > 0 {
		t.Errorf("the plan says\n%s", said)
	}
	mustApply(t, ws, on)
	emptyPlan(t, ws, on)
	if w.Run(host, "cat "+unit) != newUnit || w.Run(host, "cat "+program) != newProgram {
		t.Error("the files are not written anew")
	}
	for _, kept := range []string{"/etc/systemd/system/.infiniband-port-*", "/usr/local/sbin/.terraform-*"} {
		if said, status := w.Try(host, "cat "+kept); status == 0 {
			t.Errorf("%s is kept as if somebody had written into it:\n%s", kept, said)
		}
	}
}

// A create that fails after the unit was written says that it stays, and how it is removed.
func TestPort_fails_after_its_unit_was_written(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	const host = labs.Intel9
	ws, cfg := w.Workspace(), w.port(map[string]any{"enabled": false})
	id, unit := host+"/"+w.PCI(host)+"/1", "infiniband-port-0000:01:00.0-1.service"
	w.Machine(host).Faults.Trap(" disable", 0, labsim.ProgramFault{Exit: true, Status: 1})
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil || len(diags.Errors().Find("The unit "+unit+", which makes the setting at boot, stays on the host",
		`terraform import ADDRESS "`+id+`"`)) != 1 {
		t.Fatalf("%v\n%s", err, diags)
	}
	checkUntainted(t, ws)
	w.Machine(host).Faults.Clear()
	if diags, err := ws.Import(context.Background(), cfg[0], id); err != nil || diags.HasError() {
		t.Fatalf("import: %v\n%s", err, diags)
	}
	mustApply(t, ws, nil)
	if said, _ := w.Try(host, "ls /etc/systemd/system /etc/systemd/system/multi-user.target.wants"); strings.Contains(said, "infiniband-port") {
		t.Errorf("after the removal: %s", said)
	}
}
