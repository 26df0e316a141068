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
	applied(t, ws, cfg)
	emptyPlan(t, ws, cfg)
}
