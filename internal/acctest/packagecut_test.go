package acctest

import (
	"context"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
)

// TestSM_package_interrupted: the host of a subnet manager loses power in the installation
// of opensm. The next apply ends the work. What somebody else has begun there stops it, and
// the diagnostic names the package and the commands.
func TestSM_package_interrupted(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	w.needSimulated("real machines have scenarios of their own")
	drivers(w)
	ws, cfg, m := w.Workspace(), sm(labs.Intel9, nil), w.Machine(labs.Intel9)
	for _, step := range []packages.Step{packages.Unpack, packages.Configure} {
		packages.SetCut(m, "opensm", step)
		boots := m.Boots()
		diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
		if err != nil || !diags.HasError() {
			t.Fatalf("%s: the apply that lost its host: %v\n%s", step, err, diags)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := m.AwaitBoot(ctx, boots+1); err != nil {
			t.Fatal(err)
		}
		cancel()
		w.DropAll()
		drivers(w)
	}
	packages.SetHalfway(m, "nginx", "iF ", "1.24.0-2ubuntu7", "")
	diags, err := ws.Apply(context.Background(), cleanPlan(t, ws, cfg))
	if err != nil || len(diags.Errors().Find("It has left nginx (half configured). This apply installs opensm and what that needs",
		"\n    sudo dpkg --configure -a\n")) != 1 {
		t.Errorf("beside a package of somebody else: %v\n%s", err, diags)
	}
	w.Run(labs.Intel9, "dpkg --configure -a")
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	if out := w.Run(labs.Intel9, "dpkg --audit"); out != "" {
		t.Errorf("in the end:\n%s", out)
	}
}
