package acctest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

func field(t *testing.T, v any, keys ...string) any {
	t.Helper()
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("no field %s in %v", k, v)
		}
		v = m[k]
	}
	return v
}

func messages(t *testing.T, fabric any) string {
	t.Helper()
	var all []string
	list, ok := field(t, fabric, "differences").([]any)
	if !ok {
		t.Fatalf("%v", fabric)
	}
	for _, d := range list {
		all = append(all, fmt.Sprintf("%s: %s", field(t, d, "kind"), field(t, d, "message")))
	}
	return strings.Join(all, "\n")
}

var updatePicture = flag.Bool("picture.update", false, "write the picture that the documentation shows")

// samePicture compares with the picture that README and example show.
func samePicture(t *testing.T, svg string) {
	t.Helper()
	const shown = "../../examples/lab-crossflash/simulated.svg"
	if *updatePicture {
		if err := os.WriteFile(shown, []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(shown)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != svg {
		t.Errorf("%s is not what the fabric looks like: go test ./internal/acctest -run TestFabric_of_the_two_hosts -picture.update", shown)
	}
}

// The whole main scenario, then its fabric: what is there, what is not, what is
// slow, what counts errors.
func TestFabric_of_the_two_hosts(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	mustApply(t, ws, w.BothHosts())
	look := func(attrs map[string]any) any {
		t.Helper()
		attrs["host"] = labs.Intel9
		v, diags, err := ws.Data(context.Background(), "infiniband_fabric", attrs)
		if err != nil || diags.HasError() {
			t.Fatalf("%v %v", err, diags)
		}
		return v
	}
	cables := []any{
		map[string]any{"a": "intel9/1", "b": "0x0002c902004a1b00/1", "min_width": "4X",
			"min_speed": "FDR"}, map[string]any{"a": "intel9/2", "b": "0x0002c902004a1b00/2"},
		map[string]any{"a": "xeon2zfs/1", "b": "0x0002c902004a1b00/3"}, map[string]any{"a": "xeon2zfs/2",
			"b": "0x0002c902004a1b00/4"},
	}
	got := look(map[string]any{"expected_links": cables})
	if m := messages(t, got); m != "" {
		t.Errorf("differences:\n%s", m)
	}
	svg, ok := field(t, got, "svg").(string)
	if !ok || !strings.Contains(svg, "2 hosts, 2 cards, 1 switch, 4 links") ||
		!strings.Contains(svg, "SM intel9, priority 14") {
		t.Errorf("%s", svg)
	}
	samePicture(t, svg)
	if m, ok := field(t, got, "mermaid").(string); !ok || !strings.HasPrefix(m, "flowchart TD\n") {
		t.Errorf("%s", m)
	}
	sw := labsim.SwitchEnd("switch", 3)
	w.Limit(sw, labsim.LinkCaps{Widths: 1, Speeds: 7})
	w.Lab.Count(sw, "SymbolErrorCounter", 70)
	w.Disconnect(labsim.SwitchEnd("switch", 2))
	got = look(map[string]any{"expected_links": cables,
		"baseline": map[string]any{"0x0002c902004a1b00/3": map[string]any{"SymbolErrorCounter": 20}}})
	for _, want := range []string{
		"missing: The cable intel9/2 - 0x0002c902004a1b00/2 is not there.",
		"runs at 1X QDR: 1 of 4 lanes in use: 8 Gb/s instead of 32 Gb/s; the cable or a contact of its plugs is bad",
		"errors: SwitchX -  Mellanox Technologies port 3 has counted 70 SymbolErrorCounter since the counter was last cleared, more than 10.",
		"growing: SwitchX -  Mellanox Technologies port 3 has counted 50 more SymbolErrorCounter since the earlier reading.",
	} {
		if !strings.Contains(messages(t, got), want) {
			t.Errorf("want %q in\n%s", want, messages(t, got))
		}
	}
}

// A warning that is there without reason is soon read by nobody.
func TestFabric_sameFabricNeedsNoOtherSM(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	unmanagedNode(w)
	second := ipoib(labs.Intel9, map[string]any{"port_guid": portGUID(labs.Intel9, 2)})[0]
	second.After = []string{"infiniband_opensm.it"}
	plan := cleanPlan(t, w.Workspace(), append(sm(labs.Intel9, nil), second))
	if text := plan.Diags.String(); strings.Contains(text, "IP034") || strings.Contains(text, "IP020") {
		t.Errorf("%s", text)
	}
}

// A subnet manager that this very plan starts makes the port Active.
func TestFabric_portThatThisPlanServes(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	unmanagedNode(w)
	ws := w.Workspace()
	first := cleanPlan(t, ws, ipoib(labs.Intel9, nil))
	if text := first.Diags.String(); !strings.Contains(text, "IP020") {
		t.Errorf("without a subnet manager: %s", text)
	}
	applyStep(t, ws, first, "")
	later := ipoib(labs.Intel9, nil)[0]
	later.After = []string{"infiniband_opensm.it"}
	plan := cleanPlan(t, ws, append(sm(labs.Intel9, nil), later))
	for _, code := range []string{"IP020", "IP034", "IP052"} {
		if text := plan.Diags.String(); strings.Contains(text, code) {
			t.Errorf("%s", text)
		}
	}
}

func TestFabric_refusals(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	ws := w.Workspace()
	mustApply(t, ws, w.BothHosts())
	_, diags, err := ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": labs.Xeon2zfs})
	if err != nil || !diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	for _, want := range []string{"Unable to read the fabric of host xeon2zfs",
		"The host has no ibnetdiscover, iblinkinfo, ",
		"TrueNAS does not have them and takes no packages: let another host on the same fabric look"} {
		if !strings.Contains(diags.String(), want) {
			t.Errorf("want %q in\n%s", want, diags)
		}
	}
}

// A port without a link sees no fabric: that is said first, and nothing is said of subnet managers and nodes
// that it cannot see. Which port has looked is in the answer.
func TestFabric_through_a_port_without_a_link(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(true)})
	drivers(w)
	one, two := w.Names()[0], w.Names()[1]
	w.Install(one, "infiniband-diags")
	w.Manage(two, 5)
	w.Unplug(one, 1)
	look := func(attrs map[string]any) any {
		t.Helper()
		attrs["host"] = one
		attrs["expected_links"] = []any{map[string]any{"a": one + "/1", "b": two + "/1"}, map[string]any{"a": two + "/2", "b": "pdu"}}
		v, diags, err := w.Workspace().Data(t.Context(), "infiniband_fabric", attrs)
		if err != nil || diags.HasError() {
			t.Fatalf("%v %v", err, diags)
		}
		return v
	}
	got := messages(t, look(map[string]any{"port_guid": w.firstPort(one)}))
	if !strings.HasPrefix(got, "no_link: Nothing is known of this fabric: port 1 of "+one+" has no link (Polling).") ||
		!strings.Contains(got, "missing: The cable "+one+"/1 - "+two+"/1 is not there. Port 1 of "+one+" has no link.") ||
		!strings.Contains(got, "missing: The cable "+two+"/2 - pdu is not seen: port 1 of "+one+" has no link (Polling).") ||
		strings.Contains(got, "no_sm") || strings.Contains(got, "is called") {
		t.Errorf("through the port without a link:\n%s", got)
	}
	other := fmt.Sprintf("0x%016x", w.hostSpec(one).Cards[0].GUIDs[2])
	if chosen := field(t, look(map[string]any{}), "port_guid"); chosen != other {
		t.Errorf("without port_guid it looked through %v, and not %s", chosen, other)
	}
}
