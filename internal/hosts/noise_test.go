package hosts

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/collect"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/flock"
)

// A line that a library writes to standard error, of any program and in any place, changes nothing
// that is understood of a host.
func TestRead_with_a_stray_line(t *testing.T) {
	lab, err := labs.Start(t.TempDir(), labsim.Options{}, append(labs.TwoHosts(), labs.QLogic()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	const stray = "|ERROR: ld.so: object 'libx.so' from LD_PRELOAD cannot be preloaded: ignored.\n"
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(lab.Servers)) {
		h, _ := labHost(t, lab, name)
		result, err := h.Host.Run(t.Context(), collect.Command(collect.Places{
			StateDir: inventory.StateDir, LockFile: flock.File, Packages: packages}))
		if err != nil {
			t.Fatal(err)
		}
		whole := string(result.Stdout)
		want, err := read(whole)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(whole, "\n")
		for begin, line := range lines {
			program, is := strings.CutPrefix(strings.TrimSpace(line), "@run 0\t")
			if !is {
				continue
			}
			seen[program] = true
			end := begin + 1
			for lines[end] != "@.\n" && lines[end] != "@.+\n" {
				end++
			}
			for where, at := range map[string]int{"before": begin + 1, "behind": end} {
				text := strings.Join(lines[:at], "") + stray + strings.Join(lines[at:], "")
				if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: a line %s the output of %s: %v", name, where, program, err)
				}
			}
		}
	}
	for _, program := range []string{"systemctl", "stat", "mstflint-v", "ip-addr", "ip-route"} {
		if !seen[program] {
			t.Errorf("no host ran %s", program)
		}
	}
}
