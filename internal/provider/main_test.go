package provider_test

import (
	"context"
	"os"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/acctest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

const (
	intel9   = labs.Intel9
	xeon2zfs = labs.Xeon2zfs
)

func TestMain(m *testing.M) {
	// The SDK's loggers write every call unless they are told not to, and a
	// developer's own CLI configuration must not reach the engines.
	for _, name := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER",
		"TF_LOG_PROVIDER_INFINIBAND"} {
		if os.Getenv(name) == "" {
			_ = os.Setenv(name, "OFF")
		}
	}
	_ = os.Unsetenv("TF_CLI_CONFIG_FILE")
	acctest.UseEngine()
	os.Exit(m.Run())
}

// plan plans and fails the test if the provider breaks the protocol.
func plan(t *testing.T, ws *acctest.Workspace, cfg acctest.Config) *acctest.Plan {
	t.Helper()
	p, err := ws.Plan(context.Background(), cfg)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	if len(p.Broken) > 0 {
		t.Fatalf("the plan breaks the protocol: %v", p.Broken)
	}
	return p
}

// apply plans and applies; neither may fail.
func apply(t *testing.T, ws *acctest.Workspace, cfg acctest.Config) acctest.Diags {
	t.Helper()
	p := plan(t, ws, cfg)
	if p.Diags.HasError() {
		t.Fatalf("plan:\n%s", p.Diags.Errors())
	}
	said, err := ws.Apply(context.Background(), p)
	if err != nil || said.HasError() {
		t.Fatalf("apply: %v\n%s", err, said.Errors())
	}
	return said
}

// checkUnchanged plans and expects that nothing is to be done.
func checkUnchanged(t *testing.T, ws *acctest.Workspace, cfg acctest.Config) {
	t.Helper()
	p := plan(t, ws, cfg)
	if p.Diags.HasError() {
		t.Fatalf("plan:\n%s", p.Diags.Errors())
	}
	for _, c := range p.Changes {
		if c.Action != acctest.NoOp {
			t.Errorf("%s of %s is planned:\nprior   %v\nplanned %v", c.Action, c.Resource.Address(), acctest.Decode(c.Prior),
				acctest.Decode(c.Planned))
		}
	}
}
