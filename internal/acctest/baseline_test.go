package acctest

import (
	"context"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

const theBaseline = "infiniband_fabric_baseline.it"

func baseline(host, accepted string) Resource {
	return Resource{Type: "infiniband_fabric_baseline", Name: "it", Attrs: map[string]any{"host": host,
		"triggers": map[string]any{"accepted": accepted}}}
}

// since looks at the fabric of a host, and compares it with what the baseline remembers.
func since(t *testing.T, ws *Workspace, host string) any {
	t.Helper()
	v, diags, err := ws.Data(context.Background(), "infiniband_fabric", map[string]any{"host": host,
		"expected_links": ws.Get(theBaseline, "cables"), "since": ws.Get(theBaseline, "reading")})
	if err != nil || diags.HasError() {
		t.Fatalf("%v %v", err, diags)
	}
	return v
}

// A baseline is silent about what was counted before it, and names each cable that is missing, slow, flapping or has
// more errors than then.
func TestBaseline_life(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: pair(false)})
	w.needSimulated("cables that are pulled and counters that are set")
	drivers(w)
	ws, names := w.Workspace(), w.Names()
	w.Install(names[0], "infiniband-diags")
	said, err := ws.Apply(context.Background(), cleanPlan(t, ws, Config{baseline(names[0], "first")}))
	if err != nil || len(said.Errors().Find("remember the fabric of host "+names[0], "Nothing was remembered",
		"No subnet manager rules this fabric")) != 1 {
		t.Fatalf("without a subnet manager: %v\n%s", err, said)
	}
	at := func(port int) labsim.End { return labsim.SwitchEnd("switch", port) }
	cfg := w.managers(nil)[:1]
	mustApply(t, ws, cfg)
	w.Lab.Count(at(1), "SymbolErrorCounter", 500)
	w.Lab.Count(at(2), "LinkDownedCounter", 7)
	w.Lab.Count(at(3), "LinkErrorRecoveryCounter", 255)
	cfg = append(cfg, baseline(names[0], "first"))
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if m := messages(t, since(t, ws, names[0])); !strings.HasPrefix(m, "errors: The cable "+names[1]+" mlx4_0 port 1 - ") ||
		!strings.Contains(m, "stands at its maximum, 255, so that nobody sees whether it grows") || strings.Contains(m, "\n") {
		t.Errorf("at first:\n%s", m)
	}

	w.Lab.Count(at(1), "SymbolErrorCounter", 30)
	w.Lab.Count(at(2), "LinkDownedCounter", 2)
	w.Lab.Count(at(3), "LinkDownedCounter", 1)
	w.Disconnect(at(4))
	w.Limit(at(2), labsim.LinkCaps{Widths: 1, Speeds: 7})
	w.Machine(names[1]).Reboot()
	drivers(w)
	got := since(t, ws, names[0])
	far := "SwitchX -  Mellanox Technologies port "
	for _, want := range []string{
		"missing: The cable " + names[1] + "/2 - 0x0002c902004a1b00/4 is not there.",
		"slow: " + names[0] + " mlx4_0 port 2 - " + far + "2 runs at 1X QDR, expected at least 4X FDR.",
		"growing: The cable " + names[0] + " mlx4_0 port 1 - " + far + "1: " + far + "1 has counted 30 more SymbolErrorCounter in less than a minute.",
		"flapping: The link " + names[0] + " mlx4_0 port 2 - " + far + "2 went down 2 times in less than a minute.",
	} {
		if !strings.Contains(messages(t, got), want) {
			t.Errorf("want %q in\n%s", want, messages(t, got))
		}
	}
	if strings.Contains(messages(t, got), "The link "+names[1]) {
		t.Errorf("a link flaps because its host has restarted:\n%s", messages(t, got))
	}
	if svg, _ := field(t, got, "svg").(string); !strings.Contains(svg, ">missing</text>") || !strings.Contains(svg, "port 2: 1X QDR</title>") {
		t.Errorf("the picture:\n%s", svg)
	}

	// What is there now is right from now on, and the apply says what of it is wrong.
	cfg[1] = baseline(names[0], "second")
	if warned := mustApply(t, ws, cfg).Warnings().Find("The baseline of the fabric of host "+names[0], "1 of 4 lanes in use"); len(warned) != 1 {
		t.Errorf("a slow cable is taken silently")
	}
	if m := messages(t, since(t, ws, names[0])); strings.Contains(m, "missing") || strings.Contains(m, "growing") ||
		strings.Contains(m, "flapping") {
		t.Errorf("after the second:\n%s", m)
	}
	mustApply(t, ws, cfg[:1])
}
