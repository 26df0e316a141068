package acctest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// A ConnectX-4 takes another type with a restart only: without one the plan stays
// empty and the state says what waits, with one the port is what was asked for.
func TestLinkType_connectX4(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: []labs.Host{labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)}})
	ws := w.Workspace()
	wants := func(link, activation string) Config {
		return Config{{Type: "infiniband_link_type", Name: "it", Attrs: map[string]any{
			"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "ports": map[string]any{"1": link}, "activation": activation,
		}}}
	}
	state := func() map[string]any { return Decode(ws.State["infiniband_link_type.it"].Value).(map[string]any) }
	mustApply(t, ws, wants("ib", "none"))
	boots := w.Machine(labs.Intel9).Boots()
	mustApply(t, ws, wants("eth", "none"))
	emptyPlan(t, ws, wants("eth", "none"))
	if got := state(); got["reboot_required"] != true || got["stored_in"] != "mstconfig" {
		t.Errorf("reboot_required %v, stored_in %v; the type waits in the card", got["reboot_required"], got["stored_in"])
	}
	if w.Machine(labs.Intel9).Boots() != boots {
		t.Error("the host was restarted without being asked for")
	}
	plan := cleanPlan(t, ws, wants("eth", "reboot"))
	if len(plan.Diags.Warnings().Find("The apply restarts host intel9", "Nothing is stored anew")) != 1 {
		t.Errorf("the plan does not say that it restarts the host: %s", plan.Diags)
	}
	applyStep(t, ws, plan, "")
	if got := w.Machine(labs.Intel9).Boots(); got != boots+1 {
		t.Errorf("the host restarted %d times", got-boots)
	}
	if got := w.Card(labs.Intel9).Ports[0].View().LinkType; got != "eth" {
		t.Errorf("the port is %q", got)
	}
	emptyPlan(t, ws, wants("eth", "reboot"))
	const link = "infiniband_link_type.it"
	if plan = cleanPlan(t, ws, wants("ib", "reboot")); plan.Get(link, "restarts") != labs.Intel9 ||
		plan.Get(link, "change") != "1: eth -> ib" {
		t.Errorf("the plan of another type does not say that it restarts the host: %v", plan.Get(link))
	}
	if plan = cleanPlan(t, ws, wants("ib", "none")); plan.Get(link, "restarts") != nil {
		t.Errorf("a restart is announced that nobody asked for: %v", plan.Get(link))
	}
	// Somebody sets it back, for the next boot.
	w.Run(labs.Intel9, "mstconfig -y -d 0000:01:00.0 set LINK_TYPE_P1=1")
	if changes := cleanPlan(t, ws, wants("eth", "none")).Changes; len(changes) != 1 || changes[0].Action != Update {
		t.Errorf("the drift of the next boot is not planned: %v", changes)
	}
	mustApply(t, ws, wants("eth", "none"))
	emptyPlan(t, ws, wants("eth", "none"))
	// Somebody removes the tool: what is not to be changed is kept.
	w.Run(labs.Intel9, "mv $(command -v mstconfig) /root/mstconfig.away")
	emptyPlan(t, ws, wants("eth", "none"))
	if said := cleanPlan(t, ws, wants("eth", "none")).Diags.Warnings(); len(said.Find(
		"its stored link types could not be read", "mstconfig is not installed")) == 0 {
		t.Errorf("nothing is said of a tool that is not there: %s", said)
	}
	if said := mustPlan(t, ws, wants("ib", "none")).Diags; len(said.Errors().Find("LT013")) != 1 {
		t.Errorf("another type, without the tool: %s", said)
	}
}

// The initial RAM disk loads the driver with its own copy of the setting. A file
// that is newer, because an apply was cut or somebody touched it, is not what the
// next boot gets: the plan says so, and the apply rebuilds the disk.
func TestLinkType_initialRAMDisk(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws := w.Workspace()
	wants := w.types(labs.Intel9, "ib", "ib")
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	w.Run(labs.Intel9, "sleep 1; touch /etc/modprobe.d/terraform-infiniband.conf")
	if changes := cleanPlan(t, ws, wants).Changes; len(changes) != 1 || changes[0].Action != Update {
		t.Errorf("the older copy is not planned to be replaced: %v", changes)
	}
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	// A file of somebody else's that is gone is still in the disk.
	w.Run(labs.Intel9, "echo 'options mlx4_core port_type_array=2,2' >/etc/modprobe.d/zz.conf; update-initramfs -u; rm /etc/modprobe.d/zz.conf")
	if plan := cleanPlan(t, ws, wants); plan.Actions()["infiniband_link_type.it"] != Update ||
		len(plan.Diags.Warnings().Find("LT017")) != 1 {
		t.Errorf("the copy of a file that is gone: %v\n%s", plan.Actions(), plan.Diags)
	}
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	// So is the text that such a file had, also where its new one says what is asked.
	w.Run(labs.Intel9, "echo 'options mlx4_core port_type_array=2,2' >/etc/modprobe.d/zz.conf; update-initramfs -u; sleep 1; "+
		"echo 'options mlx4_core port_type_array=1,1' >/etc/modprobe.d/zz.conf")
	if plan := cleanPlan(t, ws, wants); plan.Actions()["infiniband_link_type.it"] != Update ||
		len(plan.Diags.Warnings().Find("LT017")) != 1 {
		t.Errorf("the copy of a file that was corrected: %v\n%s", plan.Actions(), plan.Diags)
	}
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	w.Reboot(labs.Intel9)
	emptyPlan(t, ws, wants)
	if _, status := w.Try(labs.Intel9,
		"test /etc/modprobe.d/terraform-infiniband.conf -nt /boot/initrd.img-$(uname -r)"); status == 0 {
		t.Error("the initial RAM disk was not rebuilt")
	}
}

// Two cards that share the setting of the driver change together, if each resource names
// the other card. Without the consent neither changes.
func TestLinkType_twoCardsOfOneSetting(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(anotherCard)})
	host := w.hostSpec(labs.Intel9)
	both := func(kind string, consent bool) Config {
		var cfg Config
		for i, c := range host.Cards {
			attrs := map[string]any{"card_id": labs.Intel9 + "/" + c.BDF, "ports": map[string]any{"1": kind, "2": kind}}
			if consent {
				attrs["allow"] = map[string]any{"other_cards": []any{host.Cards[1-i].BDF}}
			}
			cfg = append(cfg, Resource{Type: "infiniband_link_type", Name: fmt.Sprint("card", i), Attrs: attrs})
		}
		return cfg
	}
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws := w.Workspace()
	refused := mustPlan(t, ws, both("eth", false)).Diags.Errors()
	for i := range host.Cards {
		if said := refused.Find("LT007", fmt.Sprintf("other_cards = [%q]", host.Cards[i].BDF)); len(said) != 1 {
			t.Errorf("the consent for %s is not shown once:\n%s", host.Cards[i].BDF, refused)
		}
	}
	mustApply(t, ws, both("eth", true))
	emptyPlan(t, ws, both("eth", true))
	emptyPlan(t, ws, both("eth", false))
	w.Reboot(labs.Intel9)
	emptyPlan(t, ws, both("eth", false))
}

// A file of somebody else's that has other types wins over the card's own
// configuration at each boot, and ours over that file.
func TestLinkType_fileOfOthers(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.OS, h.Kernel = labsim.Debian12, "" })})
	w.Install(labs.Intel9, "mstflint")
	ws := w.Workspace()
	wants := w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	places := field(t, Decode(ws.State["infiniband_link_type.it"].Value), "by_place")
	for place, want := range map[string]string{"mstconfig": "eth", "modprobe.d": "eth",
		"/etc/modprobe.d/mlx4.conf": "ib"} {
		if got := field(t, places, place, "2"); got != want {
			t.Errorf("%s has %v on port 2, expected %s", place, got, want)
		}
	}
	w.Reboot(labs.Intel9)
	emptyPlan(t, ws, wants)
	if got := w.Card(labs.Intel9).Ports[1].View().LinkType; got != "eth" {
		t.Errorf("after a restart the port is %q", got)
	}
}

// Under kernel lockdown no tool reaches the card, and that is known: the driver and the
// setting of the host decide.
func TestLinkType_lockdown(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.OS, h.Kernel = labsim.Debian12, "" })})
	w.Install(labs.Intel9, "mstflint")
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	w.Machine(labs.Intel9).FS.Put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n", 0o444)
	w.mstflintSays(labs.Intel9, " q", "-E- Cannot open Device: 0000:01:00.0. Permission denied. MFE_CR_ERROR\n", 1)
	ws, wants := w.Workspace(), w.types(labs.Intel9, "eth", "eth")
	mustApply(t, ws, wants)
	emptyPlan(t, ws, wants)
	if got := ws.Get("infiniband_link_type.it", "stored_in"); got != "modprobe.d" {
		t.Errorf("stored_in is %v", got)
	}
}

// A mstconfig that does not answer says nothing of the card: the state keeps what was
// read last, and nothing is stored in the place that would be next.
func TestLinkType_silentTool(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.OS, h.Kernel = labsim.Debian12, "" })})
	w.Install(labs.Intel9, "mstflint")
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	const query, silence = "mstconfig -d 0000:01:00.0 q", "mstconfig did not answer in time"
	faults := w.Machine(labs.Intel9).Faults
	silent := func() { faults.Trap(query, 0, labsim.ProgramFault{Exit: true, Status: 124}) }
	ws, ib, eth := w.Workspace(), w.types(labs.Intel9, "ib", "ib"), w.types(labs.Intel9, "eth", "eth")
	refused := func(when string, ws *Workspace, cfg Config) {
		t.Helper()
		if plan := mustPlan(t, ws, cfg); len(plan.Diags.Errors().Find("LT013", silence)) != 1 ||
			len(plan.Diags.Errors()) != 1 {
			t.Errorf("%s:\n%s", when, plan.Diags)
		}
	}
	silent()
	refused("a first plan", ws, ib)
	faults.Clear()
	mustApply(t, ws, ib)
	silent()
	emptyPlan(t, ws, ib)
	if warned := cleanPlan(t, ws, ib).Diags.Warnings().Find("its stored link types could not be read",
		silence); len(warned) == 0 {
		t.Error("nothing is said of a tool that does not answer")
	}
	if got := ws.Get("infiniband_link_type.it", "stored_in"); got != "mstconfig" {
		t.Errorf("stored_in is %v", got)
	}
	refused("another type", ws, eth)
	// What the driver shows is known.
	w.Run(labs.Intel9, "echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port2; echo eth > /sys/bus/pci/devices/0000:01:00.0/mlx4_port1")
	refused("another type in the driver", ws, ib)
	faults.Clear()
	mustApply(t, ws, ib)
	// The answer stays away after the change.
	plan := cleanPlan(t, ws, eth)
	faults.Trap("set LINK_TYPE", 1, labsim.ProgramFault{Do: silent})
	diags, err := ws.Apply(t.Context(), plan)
	if err != nil || len(diags.Errors().Find("Unable to read back the link types", silence)) != 1 {
		t.Errorf("what was not read back is called done: %v\n%s", err, diags)
	}
	faults.Clear()
	mustApply(t, ws, eth)
	emptyPlan(t, ws, eth)
}

// settingsOfOthers are what somebody else can write for the driver, in the forms that modprobe
// and the kernel take, with what the ports are after the next restart where the applied types
// are InfiniBand.
var settingsOfOthers = []struct {
	file, line string
	says       string // of LT016; empty: nothing is overridden
	types      string
}{
	{"/etc/modprobe.d/zz.conf", "options mlx4_core port_type_array=0,0", "0 on port 1, which leaves the type", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "options mlx4_core port_type_array=0", "", "ib ib"},
	{"/etc/modprobe.d/zz.conf", "options mlx4-core port_type_array=2,2", "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "options mlx4_core port-type-array=2,2", "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.conf", `options mlx4_core port_type_array="2,2"`, "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.conf", `options mlx4_core "port_type_array=2,2"`, "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "options mlx4_core port_type_array=0x2,02", "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.alias", "options mlx4_core port_type_array=2,2", "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "options mlx4\\\n_core port_type_array=2,2", "has eth on port 1", "eth eth"},
	{"/usr/lib/modprobe.d/zz.conf", "options mlx4_core port_type_array=2,2", "has eth on port 1", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "install mlx4_core /sbin/modprobe --ignore-install mlx4_core port_type_array=2,2",
		"the provider does not understand", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "install mlx[4-5]* /sbin/modprobe --ignore-install mlx4_core port_type_array=2,2",
		"the provider does not understand", "eth eth"},
	{"/etc/modprobe.d/zz.conf", "install mlx4_core /sbin/modprobe --ignore-install mlx4_core $CMDLINE_OPTS", "", "ib ib"},
	{"/etc/modprobe.d/zz.conf", "options mlx4_core port_type_array=1,1,1", "the provider does not understand", ""},
	{"/etc/modprobe.d/aa.conf", "options mlx4_core port_type_array=ib", "the provider does not understand", ""},
	{"/etc/modprobe.d/aa.conf", "options mlx4_core port_type_array=2,2", "", "ib ib"},
	// What the lab's RAM disk does not have.
	{"/run/modprobe.d/zz.conf", "options mlx4_core port_type_array=2,2", "has eth on port 1", "-"},
	{"/usr/local/lib/modprobe.d/zz.conf", "options mlx4_core port_type_array=2,2", "has eth on port 1", "-"},
	{"/etc/modprobe.d/zz.conf", `options mlx4_core debug_level="1`, "the provider does not understand", "-"},
}

// TestLinkType_settingsOfOthers holds that a setting that wins at the next boot is refused in
// every form, and that the state does not promise the stored types then.
func TestLinkType_settingsOfOthers(t *testing.T) {
	t.Parallel()
	for i, tt := range settingsOfOthers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()})
			w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
			ws, wants := w.Workspace(), w.types(labs.Intel9, "ib", "ib")
			mustApply(t, ws, wants)
			emptyPlan(t, ws, wants)
			w.Put(labs.Intel9, tt.file, tt.line+"\n")
			w.Run(labs.Intel9, "update-initramfs -u")
			plan := mustPlan(t, ws, wants)
			switch refused := plan.Diags.Errors().Find("LT016", tt.says); {
			case tt.says == "":
				emptyPlan(t, ws, wants)
			case len(refused) != 1 || !strings.Contains(plan.Diags.String(), tt.file):
				t.Errorf("%s: %s: not refused by LT016 with %q:\n%s", tt.file, tt.line, tt.says, plan.Diags)
			}
			if tt.types == "-" {
				return
			}
			w.Reboot(labs.Intel9)
			if got := bootTypes(w); got != tt.types {
				t.Errorf("%s: %s: after the restart the ports are %q", tt.file, tt.line, got)
			}
		})
	}
}

// bootTypes are the types that the driver shows, empty without it.
func bootTypes(w *Lab) string {
	out, _ := w.Try(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/mlx4_port[12] 2>/dev/null")
	return strings.Join(strings.Fields(out), " ")
}

// TestLinkType_stateBesideOthers holds what the state says of the next boot where another
// setting wins, or is not understood.
func TestLinkType_stateBesideOthers(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws, wants := w.Workspace(), w.types(labs.Intel9, "ib", "ib")
	mustApply(t, ws, wants)
	for _, step := range []struct {
		line          string
		next, restart any
	}{
		{"options mlx4_core port_type_array=0,0", map[string]any{}, nil},
		{"options mlx4_core port_type_array=1,0", map[string]any{"1": "ib"}, nil},
		{"options mlx4_core port_type_array=0x2", map[string]any{"1": "eth", "2": "ib"}, true},
		{"install mlx4_core /usr/local/sbin/mlx4", nil, nil},
		{"# nothing", map[string]any{"1": "ib", "2": "ib"}, false},
	} {
		w.Put(labs.Intel9, "/etc/modprobe.d/zz.conf", step.line+"\n")
		w.Run(labs.Intel9, "update-initramfs -u")
		mustPlan(t, ws, wants)
		if next := ws.Get("infiniband_link_type.it", "next_boot"); !reflect.DeepEqual(next, step.next) {
			t.Errorf("%s: next_boot is %v", step.line, next)
		}
		if restart := ws.Get("infiniband_link_type.it", "reboot_required"); restart != step.restart {
			t.Errorf("%s: reboot_required is %v", step.line, restart)
		}
	}
}

// What needs InfiniBand does not live on an Ethernet port: the plan names it, and refuses
// resources that stay. Without them the change goes through, and the next plan is empty.
func TestLinkType_ethernetUnderneath(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	drivers(w)
	ws, link := w.Workspace(), func(one, two string) Config { return w.types(labs.Intel9, one, two) }
	on := slices.Concat(ipoib(labs.Intel9, nil), sm(labs.Intel9, nil), w.port(nil))
	for i := range on {
		on[i].After = []string{"infiniband_link_type.it"}
	}
	both := func(one, two string) Config { return append(link(one, two), on...) }
	mustApply(t, ws, both("ib", "ib"))
	emptyPlan(t, ws, both("ib", "ib"))
	const unit = "opensm@0xe41d2d0300e44ed1.service"
	used := []string{"LT018", "port 1 has IPoIB interface ibp1s0 (172.16.0.20/24; infiniband_ipoib_interface: ",
		" and subnet manager " + unit}
	plan := mustPlan(t, ws, both("eth", "eth"))
	if len(plan.Diags.Warnings().Find(used...)) != 1 || len(plan.Diags.Find("HO009")) != 0 {
		t.Errorf("what the port loses is not named once:\n%s", plan.Diags)
	}
	if len(plan.Diags.Errors().Find("PF007", "This plan makes port", "to be Ethernet, remove th")) != 3 {
		t.Errorf("no PF007:\n%s", plan.Diags.Errors())
	}
	// Resources that do not depend on the link type are planned before it or after it.
	for _, loose := range []Config{slices.Concat(independent(on), link("eth", "eth")), slices.Concat(link("eth", "eth"), independent(on))} {
		said := mustPlan(t, ws, loose).Diags.Errors()
		if len(said.Find("PF007", "This plan makes port", "to be Ethernet, remove th")) < 3 {
			t.Errorf("no PF007 of what does not depend on the link type:\n%s", said)
		}
	}
	if said := mustPlan(t, ws, both("ib", "eth")).Diags; len(said.Find("LT018")) != 0 || said.HasError() {
		t.Errorf("the other port has nothing:\n%s", said)
	}
	plan = cleanPlan(t, ws, link("eth", "eth"))
	if len(plan.Diags.Warnings().Find(used...)) != 1 {
		t.Errorf("nothing is said of what the port loses:\n%s", plan.Diags)
	}
	applyStep(t, ws, plan, "")
	emptyPlan(t, ws, link("eth", "eth"))
	if _, status := w.Try(labs.Intel9, "systemctl is-active --quiet "+unit); status == 0 {
		t.Error("the subnet manager still runs")
	}
}

// The port becomes Ethernet by hand, and plans see it more than once before it is taken back:
// the apply takes the interface back too, and the state has what the host has.
func TestLinkType_backFromEthernet(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	drivers(w)
	ws, on := w.Workspace(), ipoib(labs.Intel9, nil)
	on[0].After = []string{"infiniband_link_type.it"}
	cfg := append(w.types(labs.Intel9, "ib", "ib"), on...)
	mustApply(t, ws, cfg)
	ethernet(w)
	for range 3 {
		plan := cleanPlan(t, ws, cfg)
		if got := plan.Actions()["infiniband_ipoib_interface.it"]; got != Update {
			t.Errorf("%v is planned for the interface", got)
		}
	}
	mustApply(t, ws, cfg)
	if got := ws.Get("infiniband_ipoib_interface.it", "interface"); got != "ibp1s0" {
		t.Errorf("after the apply the state has the interface %v", got)
	}
	emptyPlan(t, ws, cfg)
}

// The port becomes Ethernet by hand: the state has no mode and no MTU, because there is no
// interface to read them from. Removing the resources works, and says what is true.
func TestLinkType_ethernetByHand(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	ws := w.Workspace()
	on := append(ipoib(labs.Intel9, nil), sm(labs.Intel9, nil)...)
	mustApply(t, ws, on)
	ethernet(w)
	for range 2 {
		plan := mustPlan(t, ws, on)
		for _, name := range []string{"mode", "mtu", "effective", "interface"} {
			if got := ws.Get("infiniband_ipoib_interface.it", name); got != nil {
				t.Errorf("%s is %v after the refresh", name, got)
			}
		}
		if len(plan.Diags.Errors().Find("PF007", "remove this resource")) != 2 {
			t.Errorf("no PF007:\n%s", plan.Diags)
		}
	}
	plan := cleanPlan(t, ws, nil)
	if len(plan.Diags.Warnings().Find("there is no such interface now")) != 1 ||
		len(plan.Diags.Find("the interface stays")) != 0 {
		t.Errorf("what the destroy says:\n%s", plan.Diags)
	}
	applyStep(t, ws, plan, "")
}

// InfiniBand on port 1 with Ethernet on port 2 is what the card can do.
func TestLinkType_mixed(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	ws, mixed := w.Workspace(), w.types(labs.Intel9, "ib", "eth")
	mustApply(t, ws, mixed)
	emptyPlan(t, ws, mixed)
}

// A type that the card senses is stored in the card, and the plan after it is empty.
func TestLinkType_auto(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) { h.OS, h.Kernel = labsim.Debian12, "" })})
	w.Run(labs.Intel9, "rm /etc/modprobe.d/mlx4.conf")
	drivers(w)
	ws := w.Workspace()
	for _, second := range []string{"auto", "ib"} {
		cfg := w.types(labs.Intel9, "auto", second)
		mustApply(t, ws, cfg)
		if got := ws.Get("infiniband_link_type.it", "next_boot", "1"); got != "auto" {
			t.Errorf("at the next boot port 1 is %v", got)
		}
		emptyPlan(t, ws, cfg)
	}
}

// independent is a configuration without dependencies.
func independent(cfg Config) Config {
	cfg = slices.Clone(cfg)
	for i := range cfg {
		cfg[i].After = nil
	}
	return cfg
}
