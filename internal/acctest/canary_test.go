package acctest

import (
	"context"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Cards are written one after the other over all hosts. After one that failed the
// others are not touched, and the next apply begins anew.
func TestCanary_no_card_after_one_that_failed(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{})
	hosts := []string{labs.Intel9, labs.Xeon2zfs}
	var cfg Config
	for _, host := range hosts {
		cfg = append(cfg, w.cardOnly(host)[:3]...)
		w.Machine(host).Faults.Trap(" -allow_psid_change ", 0, labsim.ProgramFault{Exit: true, Status: 1})
	}
	ws := w.Workspace()
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil {
		t.Fatal(err)
	}
	if found := diags.Errors().Find("HO018"); len(found) != 1 {
		t.Fatalf("one of two cards should have been left alone; the apply says:\n%s", diags)
	}
	begun := 0
	for _, host := range hosts {
		if w.Count(host, "-allow_psid_change") > 0 {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("%d hosts began a burn, expected the first only", begun)
	}
	for _, host := range hosts {
		w.Machine(host).Faults.Clear()
	}
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
}

// Link types take their turn with the other writes of cards: after a card that
// failed, no other one is changed.
func TestCanary_link_types_take_their_turn(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	var cfg Config
	for _, host := range []string{labs.Intel9, labs.Xeon2zfs} {
		types := w.types(host, "eth", "eth")[0]
		types.Name = host
		cfg = append(cfg, types)
	}
	w.Machine(labs.Intel9).Faults.Trap("update-initramfs", 0, labsim.ProgramFault{Exit: true, Status: 1})
	ws := w.Workspace()
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil {
		t.Fatal(err)
	}
	if found := diags.Errors().Find("HO018", labs.Xeon2zfs); len(found) != 1 {
		t.Errorf("the second card should have been left alone; the apply says:\n%s", diags)
	}
	if got := w.Card(labs.Xeon2zfs).Ports[0].View().LinkType; got != "ib" {
		t.Errorf("port 1 of the second card is %q", got)
	}
}
