package acctest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/card"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// What a killed provider has left of a burn is closed by an action: it waits for the job, and writes nothing to the card.
// The next plan does not name the job any more, and nothing is burned twice.
func TestAction_settleJob(t *testing.T) {
	t.Parallel()
	host := labs.Intel9
	w := Start(t, Options{})
	ws, cfg := w.Workspace(), w.cardOnly(host)
	ref := host + "/" + w.PCI(host)
	invoke := func(id string) (string, Diags) {
		t.Helper()
		progress, said, err := ws.Invoke(t.Context(), "infiniband_settle_job", map[string]any{"card_id": id})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(progress, "\n"), said
	}
	if progress, said := invoke(ref); said.HasError() || progress != "no job of card "+ref+" is open" {
		t.Errorf("without a job:\n%s\n%s", progress, said)
	}
	if _, said := invoke(host + "/0000:09:00.0"); len(said.Errors().Find("Unable to settle jobs of card "+host,
		"has no card at 0000:09:00.0")) != 1 {
		t.Errorf("no such card:\n%s", said)
	}
	w.Machine(host).Faults.Set(labsim.FaultSpec{FlashSlow: 15 * time.Millisecond})
	plan := cleanPlan(t, ws, cfg)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	ended := make(chan error)
	go func() {
		_, err := ws.Apply(ctx, plan)
		ended <- err
	}()
	w.waitForMstflint(host, "b")
	kill()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	hosts, _ := ws.Provider["hosts"].(map[string]any)
	entry, _ := hosts[host].(map[string]any)
	settled := func() string {
		text, _ := w.Try(host, "cat /var/lib/terraform-provider-infiniband/jobs/*-*/settled")
		return text
	}
	entry["mode"] = "observe"
	if _, said := invoke(ref); len(said.Errors().Find("Finding: HO008")) != 1 || strings.Contains(settled(), "verified") {
		t.Errorf("in mode observe:\n%s\n%s", said, settled())
	}
	delete(entry, "mode")
	w.Machine(host).Faults.Clear()
	progress, said := invoke(ref)
	if said.HasError() || !strings.Contains(progress, "of an earlier run (") || !strings.Contains(progress, card.PSIDVPI) ||
		!strings.Contains(settled(), "verified by a later apply") {
		t.Errorf("progress:\n%s\n%s\nsettled: %s", progress, said, settled())
	}
	again := cleanPlan(t, ws, cfg)
	if len(again.Diags.Find("an earlier apply did not finish"))+len(again.Diags.Find("A job ", " now (job ")) > 0 {
		t.Errorf("the next plan names the job:\n%s", again.Diags)
	}
	if diags, err := ws.Apply(t.Context(), again); err != nil || diags.HasError() {
		t.Errorf("%v\n%s", err, diags)
	}
	once(t, w, host)
}
