package acctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// The cables that adopt has written stand in the plan, one by one, when they are pulled, and make it drift.
func TestAdopt_cables(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi(func(h *labs.Host) {
		if h.OS == labsim.Ubuntu {
			h.Packages = append(h.Packages, "infiniband-diags")
		}
	})})
	w.needSimulated("cables that are pulled")
	drivers(w)
	o := newFolder(t, buildProvider(t))
	dark := newFolder(t, o.binary)
	dark.adopts(w) // no subnet manager rules the fabric yet
	if _, err := os.Stat(filepath.Join(dark.dir, "cables.tf")); err == nil {
		t.Errorf("the cables of a fabric that is down are expected:\n%s", dark.text("cables.tf"))
	}
	w.Manage(labs.Intel9, 14)
	w.waitActive(labs.Intel9, 1)
	o.adopts(w)
	cables := strings.Join(strings.Fields(o.text("cables.tf")), " ")
	if want := `{ a = "intel9/1", b = "0x0002c902004a1b00/1", min_width = "4X", min_speed = "FDR" },`; !strings.Contains(cables, want) {
		t.Fatalf("no %s in\n%s", want, cables)
	}
	o.says(0, "validate")
	o.says(0, "fmt", "-check", "-diff")
	o.says(0, "apply", "-auto-approve")
	o.says(0, "plan", "-detailed-exitcode")
	w.Disconnect(labsim.SwitchEnd("switch", 2))
	w.Limit(labsim.SwitchEnd("switch", 3), labsim.LinkCaps{Widths: 1, Speeds: 7})
	said := o.says(2, "plan", "-detailed-exitcode")
	for _, want := range []string{`+ "The cable intel9/2 - 0x0002c902004a1b00/2 is not there.`,
		`+ "xeon2zfs mlx4_0 port 1 - SwitchX - Mellanox Technologies port 3 runs at 1X QDR, expected at least 4X FDR."`,
		"Check block assertion failed"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %s in\n%s", want, said)
		}
	}
}
