package acctest

import (
	"fmt"
	"path"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// A directory in the place of a file of ours is somebody's work. It is neither removed nor
// written into. The plan of the resource that writes the file is refused until it is away.
func TestDirectory_in_the_place_of_a_file(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	interfaceOf := func(w *Lab) Config { return ipoib(host, nil) }
	all := func(w *Lab) Config { return smOptions(nil) }
	port := func(w *Lab) Config { return w.port(map[string]any{"speeds": []any{"SDR", "QDR"}}) }
	for _, tc := range []struct {
		name  string
		stack labsim.Stack
		code  string
		file  string
		cfg   func(w *Lab) Config
	}{
		{"netplan", labsim.StackNetplan, "HO035", ownFile[labsim.StackNetplan], interfaceOf},
		{"udev", labsim.StackNetplan, "HO035", "/etc/udev/rules.d/70-infiniband-e41d2d0300e44ed1.rules", interfaceOf},
		{"networkd", labsim.StackNetworkd, "HO035", ownFile[labsim.StackNetworkd], interfaceOf},
		{"NetworkManager", labsim.StackNetworkManager, "HO035", ownFile[labsim.StackNetworkManager], interfaceOf},
		{"ifupdown", labsim.StackIfupdown, "HO035", ownFile[labsim.StackIfupdown], interfaceOf},
		{"options of opensm", "", "HO035", smConf, all},
		{"partitions", "", "HO035", smParts, all},
		{"drop-in of opensm", "", "HO035", "/etc/systemd/system/" + smUnit + ".d/terraform-infiniband.conf", all},
		{"unit of a port", "", "HO035", "/etc/systemd/system/infiniband-port-0000:01:00.0-1.service", port},
		{"program of ports", "", "HO035", "/usr/local/sbin/terraform-infiniband-port", port},
		{"link types", "", "HO035", platform.ModprobePath, func(w *Lab) Config { return w.types(host, "ib", "ib") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			hosts := vpi()
			if tc.stack != "" {
				hosts = withStack(tc.stack)()
			}
			w := Start(t, Options{Hosts: hosts})
			drivers(w)
			w.Run(host, "rm -f /etc/modprobe.d/mlx4.conf")
			w.AddSM(&labsim.SM{Port: w.Machine(host).Cards()[0].Ports[1], Priority: 1})
			ws, cfg := w.Workspace(), tc.cfg(w)
			mustApply(t, ws, cfg)
			w.occupy(host, tc.file)
			plan := mustPlan(t, ws, cfg)
			if len(plan.Diags.Errors().Find(tc.code, tc.file, "directory")) != 1 || len(plan.Diags.Errors()) != 1 {
				t.Errorf("the plan says\n%s", plan.Diags)
			}
			for _, wrong := range []string{tc.file + " is not there", " is gone"} {
				if len(plan.Diags.Find(wrong)) > 0 {
					t.Errorf("%q in\n%s", wrong, plan.Diags)
				}
			}
			w.vacate(host, tc.file)
			mustApply(t, ws, cfg)
			emptyPlan(t, ws, cfg)
		})
	}
}

// Where several resources use a file, the apply says what is there.
func TestDirectory_found_by_the_apply(t *testing.T) {
	t.Parallel()
	const host = labs.Intel9
	w := Start(t, Options{})
	ws := w.Workspace()
	cfg := w.CrossFlash(host)
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	for _, file := range []string{platform.ModulesLoadPath, fmt.Sprint(ws.Get(cfg[1].Address(), "staged_path"))} {
		w.occupy(host, file)
		plan := mustPlan(t, ws, cfg)
		if len(plan.Actions()) == 0 {
			t.Errorf("%s: nothing is planned", file)
		}
		diags, err := ws.Apply(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		if len(diags.Errors().Find("A directory is at this path", "move it away", file)) == 0 {
			t.Errorf("%s: the apply says\n%s", file, diags)
		}
		w.vacate(host, file)
		mustApply(t, ws, cfg)
		emptyPlan(t, ws, cfg)
	}
}

// occupy puts a directory with something in it in the place of a file.
func (w *Lab) occupy(host, file string) {
	w.t.Helper()
	w.Run(host, fmt.Sprintf("mv %s /root/kept && mkdir %s && touch %[2]s/somebodys", file, file))
}

// vacate takes that directory away, with what it held.
func (w *Lab) vacate(host, file string) {
	w.t.Helper()
	w.Run(host, "rm "+path.Join(file, "somebodys")+" && rmdir "+file)
}
