package acctest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const vfAddress, vfUnit = "infiniband_virtual_functions.it", "infiniband-vfs-0000:01:00.0.service"

// vfs are so many virtual functions of the card of the Ubuntu host.
func (w *Lab) vfs(number int, more map[string]any) Config {
	all := map[string]any{"card_id": labs.Intel9 + "/" + w.PCI(labs.Intel9), "number": number}
	return Config{Resource{Type: "infiniband_virtual_functions", Name: "it", Attrs: all}.With(more)}
}

func (w *Lab) numberOfVFs() string {
	return strings.TrimSpace(w.Run(labs.Intel9, "cat /sys/bus/pci/devices/0000:01:00.0/sriov_numvfs"))
}

func laterHost() []labs.Host { return []labs.Host{labs.ConnectX4(labs.Intel9, "192.0.2.20", 0)} }

func sriovFindings() []findingCase {
	wants := func(w *Lab) Config { return w.vfs(2, nil) }
	return []findingCase{
		{code: "VF001", at: "card_id", says: []string{"mlx4_core", "num_vfs"}, prepare: drivers, config: wants},
		{code: "VF002", at: "number", says: []string{"offers 0 virtual functions, and 2 are asked for",
			"infiniband_nv_config"}, hosts: laterHost, prepare: drivers5, config: wants},
		{code: "VF003", at: "allow", says: []string{"0000:01:00.2 is bound to vfio-pci",
			`removed_functions = ["0000:01:00.2"]`}, hosts: laterHost, prepare: func(w *Lab) {
			drivers5(w)
			w.OfferVirtualFunctions(labs.Intel9, 8)
			w.Run(labs.Intel9, "echo 1 >/sys/bus/pci/devices/0000:01:00.0/sriov_numvfs")
			w.guest("0000:01:00.2")
		}, config: wants},
		{code: "VF004", at: "link_state", says: []string{"has no interface of ib_ipoib", "modprobe ib_ipoib"}, hosts: laterHost,
			prepare: func(w *Lab) {
				drivers5(w)
				w.OfferVirtualFunctions(labs.Intel9, 8)
			}, config: func(w *Lab) Config { return w.vfs(2, map[string]any{"link_state": "auto"}) }},
	}
}

// guest binds a virtual function to the driver of guests.
func (w *Lab) guest(function string) {
	w.Machine(labs.Intel9).FS.Put("/sys/bus/pci/drivers/vfio-pci/module", "", 0o444)
	w.Machine(labs.Intel9).FS.PutLink("../../../../bus/pci/drivers/vfio-pci",
		"/sys/devices/pci0000:00/0000:00:01.0/"+function+"/driver")
}

// Virtual functions are made, kept over a restart, made another number, imported and removed.
func TestVirtualFunctions_life(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.OfferVirtualFunctions(labs.Intel9, 8)
	cfg := w.vfs(2, nil)
	plan := cleanPlan(t, w.ws, cfg)
	if plan.Get(vfAddress, "unit") != vfUnit {
		t.Errorf("the plan has the unit %v", plan.Get(vfAddress, "unit"))
	}
	const stores = "; writes /etc/systemd/system/" + vfUnit + "; enables " + vfUnit
	if got := plan.Get(vfAddress, "change"); got != "number: 0 -> 2"+stores {
		t.Errorf("the plan of new functions changes %v", got)
	}
	// Somebody makes functions of the card after the plan: they are not removed.
	w.Run(labs.Intel9, "echo 3 >/sys/bus/pci/devices/0000:01:00.0/sriov_numvfs")
	stopped(t, w.ws, plan)
	if got := w.numberOfVFs(); got != "3" {
		t.Errorf("the functions of somebody else are %s", got)
	}
	w.Run(labs.Intel9, "echo 0 >/sys/bus/pci/devices/0000:01:00.0/sriov_numvfs")
	applyStep(t, w.ws, cleanPlan(t, w.ws, cfg), "")
	emptyPlan(t, w.ws, cfg)
	if got := w.numberOfVFs(); got != "2" {
		t.Fatalf("the card has %s functions", got)
	}
	w.Restart(labs.Intel9)
	if got := w.numberOfVFs(); got != "2" {
		t.Errorf("after a restart the card has %s functions", got)
	}
	emptyPlan(t, w.ws, cfg)
	// Somebody takes them away; the unit is switched off.
	w.Run(labs.Intel9, "echo 0 >/sys/bus/pci/devices/0000:01:00.0/sriov_numvfs; systemctl disable "+vfUnit)
	plan = cleanPlan(t, w.ws, cfg)
	if plan.Actions()[vfAddress] != Update || w.ws.Get(vfAddress, "at_boot") != false {
		t.Errorf("the drift is not planned: %v", plan.Actions())
	}
	applyStep(t, w.ws, plan, "")
	emptyPlan(t, w.ws, cfg)
	plan = cleanPlan(t, w.ws, w.vfs(3, nil))
	if got := plan.Get(vfAddress, "change"); got != "number: 2 -> 3, all made anew"+stores {
		t.Errorf("another number changes %v", got)
	}
	applyStep(t, w.ws, plan, "")
	lost := w.Workspace()
	said, err := lost.Import(context.Background(), cfg[0], labs.Intel9+"/0000:01:00.0")
	if err != nil || said.HasError() {
		t.Fatalf("import: %v, %s", err, said)
	}
	emptyPlan(t, lost, w.vfs(3, nil))
	mustApply(t, lost, Config{})
	// A guest may use the functions: they stay until the next restart.
	if got := w.numberOfVFs(); got != "3" || strings.Contains(w.Run(labs.Intel9, "ls /etc/systemd/system"), "infiniband-vfs") {
		t.Errorf("after the destroy the card has %s functions", got)
	}
}

// Functions in use go only with a consent that names them. A destroy leaves them to those who use them.
func TestVirtualFunctions_in_use(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.OfferVirtualFunctions(labs.Intel9, 8)
	mustApply(t, w.ws, w.vfs(2, nil))
	w.guest("0000:01:00.2")
	w.Machine(labs.Intel9).AddNetdev(labsim.Netdev{Name: "v1", Type: labsim.TypeEthernet, Up: true, Driver: "mlx5_core",
		PCI: "0000:01:00.3", Address: []byte{2, 0, 0, 0, 1, 0}, Addrs: []netip.Prefix{netip.MustParsePrefix("198.51.100.2/24")}})
	emptyPlan(t, w.ws, w.vfs(2, nil))
	refused := mustPlan(t, w.ws, w.vfs(3, nil)).Diags.Errors()
	if len(refused.Find("VF003", "0000:01:00.2 is bound to vfio-pci", `["0000:01:00.2", "0000:01:00.3"]`)) != 1 ||
		len(refused.Find("VF003", "the interface v1 of 0000:01:00.3 is in use")) != 1 {
		t.Errorf("another number: %s", refused)
	}
	if got := w.numberOfVFs(); got != "2" {
		t.Fatalf("the card has %s functions", got)
	}
	mustApply(t, w.ws, w.vfs(3, Allow("removed_functions", []any{"0000:01:00.2", "0000:01:00.3"})))
	if got := w.numberOfVFs(); got != "3" {
		t.Errorf("with the consent the card has %s functions", got)
	}
	mustApply(t, w.ws, Config{})
	if got := w.numberOfVFs(); got != "3" {
		t.Errorf("after the destroy the card has %s functions", got)
	}
}

// A unit in the slot that the card has left would make functions of whatever card comes there.
func TestVirtualFunctions_card_moved(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.OfferVirtualFunctions(labs.Intel9, 8)
	at := func(pci string) Config {
		return append(adoption(labs.Intel9, pci), Resource{Type: "infiniband_virtual_functions", Name: "it",
			Attrs: map[string]any{"card_id": To("infiniband_card.it", "id"), "number": 2}},
			Resource{Type: "infiniband_port", Name: "it",
				Attrs: map[string]any{"card_id": To("infiniband_card.it", "id"), "port": 1}})
	}
	mustApply(t, w.ws, at("0000:01:00.0"))
	renumber(t, w.Lab, labs.Intel9)
	mustApply(t, w.ws, at("0000:02:00.0"))
	emptyPlan(t, w.ws, at("0000:02:00.0"))
	units := w.Run(labs.Intel9, "ls /etc/systemd/system")
	for _, kind := range []string{"vfs", "port"} {
		if !strings.Contains(units, "infiniband-"+kind+"-0000:02:00.0") || strings.Contains(units, "infiniband-"+kind+"-0000:01:00.0") {
			t.Errorf("after the move the host has the units %s", units)
		}
	}
}

// Settings that bring the functions come in the same apply, and adopt writes the card and not its functions.
func TestVirtualFunctions_with_settings(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	id := labs.Intel9 + "/" + w.PCI(labs.Intel9)
	settings := Config{Resource{Type: "infiniband_nv_config", Name: "it", Attrs: map[string]any{"card_id": id,
		"settings": map[string]any{"SRIOV_EN": "True", "NUM_OF_VFS": "4"}, "activation": "reboot"}}}
	vfs := w.vfs(2, nil)
	vfs[0].After = []string{"infiniband_nv_config.it"}
	said := mustApply(t, w.ws, append(settings, vfs...))
	if len(said.Find("the host shows something else already")) != 0 || fmt.Sprint(w.ws.Get(vfAddress, "most")) != "4" {
		t.Errorf("the functions that a restart of the same apply brings: %s", said)
	}
	if got := w.numberOfVFs(); got != "2" {
		t.Errorf("the card has %s functions", got)
	}
	emptyPlan(t, w.ws, append(settings, vfs...))
	// Settings that take them away with the next restart are refused, whichever resource is planned first.
	for _, tt := range []struct {
		settings map[string]any
		first    bool
		says     string
	}{
		{map[string]any{"NUM_OF_VFS": "0x1"}, true, "offers 1 virtual functions"},
		{map[string]any{"SRIOV_EN": "0", "NUM_OF_VFS": "4"}, true, "offers 0 virtual functions"},
		{map[string]any{"SRIOV_EN": "False"}, false, "offers 0 virtual functions"},
	} {
		fewer := w.nv(labs.Intel9, tt.settings, nil)
		cfg := slices.Concat(w.vfs(2, nil), fewer)
		if tt.first {
			cfg = slices.Concat(fewer, w.vfs(2, nil))
		}
		errs := mustPlan(t, w.ws, cfg).Diags.Errors()
		if len(errs.Find("VF002", tt.says+" after its next start", "and 2 are asked for")) != 1 || len(errs) != 1 {
			t.Errorf("%v:\n%s", tt, errs)
		}
	}
	if said = mustPlan(t, w.ws, slices.Concat(settings, w.vfs(5, nil))).Diags.Errors(); len(said.Find("VF002")) != 1 {
		t.Errorf("more than the settings offer, and than the card does now:\n%s", said)
	}
	cleanPlan(t, w.ws, append(w.nv(labs.Intel9, map[string]any{"NUM_OF_VFS": "2"}, nil), vfs...))
	// Fewer of both come in one apply, too.
	settings[0].Attrs["settings"] = map[string]any{"SRIOV_EN": "True", "NUM_OF_VFS": "1"}
	vfs = w.vfs(1, nil)
	vfs[0].After = []string{"infiniband_nv_config.it"}
	mustApply(t, w.ws, append(settings, vfs...))
	if got := w.numberOfVFs(); got != "1" {
		t.Errorf("the card has %s functions", got)
	}
	emptyPlan(t, w.ws, append(settings, vfs...))
}

// adopt writes the number of virtual functions, and no function as a card.
func TestAdopt_virtual_functions(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.OfferVirtualFunctions(labs.Intel9, 8)
	mustApply(t, w.ws, w.vfs(2, nil))
	o := newFolder(t, buildProvider(t))
	o.adopts(w.Lab)
	if text := o.text("cards.tf"); !strings.Contains(text, `resource "infiniband_virtual_functions" "intel9"`) ||
		strings.Contains(text, "01:00.2") {
		t.Errorf("adopt writes\n%s", text)
	}
}

// portOf is what a state has of the port of one function.
func portOf(number, node, port, state string) map[string]any {
	return map[string]any{number: map[string]any{"node_guid": node, "port_guid": port, "link_state": state}}
}

// On InfiniBand functions get GUIDs and a link state, now and at each boot. What somebody changes, the plan shows.
func TestVirtualFunctions_infiniband(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.OfferVirtualFunctions(labs.Intel9, 8)
	w.Run(labs.Intel9, "modprobe ib_ipoib")
	const first, second, own = "0xee0d9a030176eae0", "0xee0d9a030276eae0", "0x0202c9fffe000001"
	cfg := w.vfs(2, map[string]any{"link_state": "auto", "port_guids": map[string]any{"1": own},
		"node_guids": map[string]any{"1": second}})
	want := portOf("0", first, first, "auto")
	maps.Copy(want, portOf("1", second, own, "auto"))
	check := func(when string) {
		t.Helper()
		emptyPlan(t, w.ws, cfg)
		if diff := cmp.Diff(want, w.ws.Get(vfAddress, "ports")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		if got := w.Run(labs.Intel9, "cat /sys/class/infiniband/*v?/node_guid"); got !=
			"ee0d:9a03:0176:eae0\nee0d:9a03:0276:eae0\n" {
			t.Errorf("%s the functions use %s", when, got)
		}
	}
	plan := cleanPlan(t, w.ws, cfg)
	if diff := cmp.Diff(want, plan.Get(vfAddress, "ports")); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	applyStep(t, w.ws, plan, "")
	check("after the apply")
	w.Restart(labs.Intel9)
	check("after a restart")
	w.Run(labs.Intel9, "ip link set ibp1s0 vf 0 node_guid 02:02:c9:ff:fe:00:00:09 state disable")
	plan = cleanPlan(t, w.ws, cfg)
	if plan.Actions()[vfAddress] != Update || w.ws.Get(vfAddress, "ports", "0", "link_state") != "disable" ||
		w.ws.Get(vfAddress, "ports", "0", "node_guid") != "0x0202c9fffe000009" {
		t.Errorf("the drift is not planned: %v, %v", plan.Actions(), w.ws.Get(vfAddress, "ports"))
	}
	applyStep(t, w.ws, plan, "")
	check("after the drift")
	lost := w.Workspace()
	said, err := lost.Import(context.Background(), cfg[0], labs.Intel9+"/0000:01:00.0")
	if err != nil || said.HasError() {
		t.Fatalf("import: %v, %s", err, said)
	}
	emptyPlan(t, lost, cfg)
	o := newFolder(t, buildProvider(t))
	o.adopts(w.Lab)
	if text := o.text("cards.tf"); !strings.Contains(text, "link_state") || !strings.Contains(text, own) ||
		strings.Contains(text, first) {
		t.Errorf("adopt writes\n%s", text)
	}
	cfg = w.vfs(2, map[string]any{"link_state": "enable"})
	want = portOf("0", first, first, "enable")
	maps.Copy(want, portOf("1", second, second, "enable"))
	mustApply(t, w.ws, cfg)
	check("after other arguments")
	// Without a link state the functions keep what they have, and no boot gives it to them.
	mustApply(t, w.ws, w.vfs(2, nil))
	emptyPlan(t, w.ws, w.vfs(2, nil))
	w.Restart(labs.Intel9)
	if got := w.Run(labs.Intel9, "cat /sys/class/infiniband/*v0/node_guid"); got != "0000:0000:0000:0000\n" {
		t.Errorf("the function has %s", got)
	}
	w.Run(labs.Intel9, "modprobe ib_ipoib")
	mustApply(t, w.ws, cfg)
	mustApply(t, w.ws, Config{})
	if units := w.Run(labs.Intel9, "ls /etc/systemd/system"); strings.Contains(units, "infiniband-vfs") {
		t.Errorf("after the destroy there is a unit: %s", units)
	}
}

// A function that a guest has gets another GUID only with a consent, and is not taken from it.
func TestVirtualFunctions_guest_keeps_its_function(t *testing.T) {
	t.Parallel()
	w := startLaterCard(t)
	w.OfferVirtualFunctions(labs.Intel9, 8)
	w.Run(labs.Intel9, "modprobe ib_ipoib")
	mustApply(t, w.ws, w.vfs(2, map[string]any{"link_state": "auto"}))
	w.guest("0000:01:00.2")
	other := map[string]any{"link_state": "auto", "port_guids": map[string]any{"0": "0x0202c9fffe000001"}}
	refused := mustPlan(t, w.ws, w.vfs(2, other)).Diags.Errors()
	if len(refused.Find("VF003", "0000:01:00.2 is bound to vfio-pci", `["0000:01:00.2"]`)) != 1 {
		t.Errorf("another GUID: %s", refused)
	}
	other["allow"] = map[string]any{"removed_functions": []any{"0000:01:00.2"}}
	mustApply(t, w.ws, w.vfs(2, other))
	emptyPlan(t, w.ws, w.vfs(2, other))
	if got := w.Run(labs.Intel9, "readlink /sys/bus/pci/devices/0000:01:00.2/driver"); !strings.Contains(got, "vfio-pci") {
		t.Errorf("the guest's function is bound to %s", got)
	}
}

// GUIDs of functions are compared with all cards and functions of the configuration, also those of the same plan.
func TestVirtualFunctions_duplicate_GUIDs(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: []labs.Host{labs.ConnectX4("a", "192.0.2.20", 0), labs.ConnectX4("b", "192.0.2.21", 1)}})
	vfs := func(host, guid string) Resource {
		attrs := map[string]any{"card_id": host + "/0000:01:00.0", "number": 2, "link_state": "auto"}
		if guid != "" {
			attrs["port_guids"] = map[string]any{"0": guid}
		}
		return Resource{Type: "infiniband_virtual_functions", Name: host, Attrs: attrs}
	}
	for _, host := range []string{"a", "b"} {
		w.Run(host, "modprobe mlx5_core; modprobe mlx5_ib; modprobe ib_ipoib")
		w.OfferVirtualFunctions(host, 8)
		w.Run(host, "modprobe mlx5_core; modprobe mlx5_ib; modprobe ib_ipoib")
	}
	const guid = "0x0202c9fffe000001"
	ws := w.Workspace()
	refused := mustPlan(t, ws, Config{vfs("a", guid), vfs("b", guid)}).Diags.Errors()
	if len(refused.Find("GU006", "virtual function 0 of", "(planned)")) == 0 {
		t.Errorf("one plan: %s", refused)
	}
	mustApply(t, ws, Config{vfs("a", guid)})
	refused = mustPlan(t, ws, Config{vfs("a", guid), vfs("b", guid)}).Diags.Errors()
	if len(refused.Find("GU006", "virtual function 0 of b/0000:01:00.0: port 1 GUID "+guid,
		"is the node GUID of virtual function 0 of a/0000:01:00.0")) != 1 {
		t.Errorf("a function of another host: %s", refused)
	}
	refused = mustPlan(t, ws, Config{vfs("a", guid), vfs("b", "0xec0d9a030076eae0")}).Diags.Errors()
	if len(refused.Find("GU006", "is the port 1 GUID of a/0000:01:00.0")) != 1 {
		t.Errorf("a card of another host: %s", refused)
	}
	mustApply(t, ws, Config{vfs("a", guid), vfs("b", "")})
}
