package acctest

import (
	"context"
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
)

func TestMain(m *testing.M) {
	// A CLI configuration of the developer's must not reach the engines, and the
	// SDK's loggers write every message of the protocol unless they are told not to.
	_ = os.Unsetenv("TF_CLI_CONFIG_FILE")
	for _, name := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER",
		"TF_LOG_PROVIDER_INFINIBAND"} {
		if os.Getenv(name) == "" && os.Getenv("TF_LOG") == "" {
			_ = os.Setenv(name, "OFF")
		}
	}
	// Scenarios mostly wait for simulated hosts; an explicit -parallel wins.
	_ = flag.Set("test.parallel", parallel)
	// A simulated lab makes much garbage that lives for a moment.
	debug.SetGCPercent(400)
	UseEngine()
	enter(func() int {
		defer func() { _ = os.RemoveAll(programs) }()
		return m.Run()
	})
}

// The testbed, if it is compiled in and asked for, has other needs.
var (
	parallel = "6"
	enter    = func(run func() int) { os.Exit(run()) }
)

// mustPlan plans and fails the test if the provider breaks the protocol.
func mustPlan(t *testing.T, ws *Workspace, cfg Config) *Plan {
	t.Helper()
	plan, err := ws.Plan(context.Background(), cfg)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if len(plan.Broken) > 0 {
		t.Fatalf("the plan breaks the protocol: %v", plan.Broken)
	}
	return plan
}

// cleanPlan is mustPlan for a plan that must not fail.
func cleanPlan(t *testing.T, ws *Workspace, cfg Config) *Plan {
	t.Helper()
	plan := mustPlan(t, ws, cfg)
	if plan.Diags.HasError() {
		t.Fatalf("plan:\n%s", plan.Diags.Errors())
	}
	return plan
}

// emptyPlan plans and expects that nothing is to be done.
func emptyPlan(t *testing.T, ws *Workspace, cfg Config) *Plan {
	t.Helper()
	plan := cleanPlan(t, ws, cfg)
	for _, c := range plan.Changes {
		if c.Action != NoOp {
			t.Errorf("%s of %s is planned:\nprior   %v\nplanned %v", c.Action, c.Resource.Address(), Decode(c.Prior),
				Decode(c.Planned))
		}
	}
	return plan
}

// mustApply plans and applies; neither may fail.
func mustApply(t *testing.T, ws *Workspace, cfg Config) Diags {
	t.Helper()
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil || diags.HasError() {
		t.Fatalf("apply: %v\n%s", err, diags.Errors())
	}
	checkUntainted(t, ws)
	return diags
}

// checkUntainted holds that nothing in the state would be destroyed and made anew.
func checkUntainted(t *testing.T, ws *Workspace) {
	t.Helper()
	for address, obj := range ws.State {
		if obj.Tainted {
			t.Errorf("%s is tainted", address)
		}
	}
}

// readBackup gives the PSID of an image file, read by the provider's parser; the
// labs check the parser against a reading of their own.
func readBackup(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	img, err := fwimage.Parse(f, info.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(img.PSID)
}
