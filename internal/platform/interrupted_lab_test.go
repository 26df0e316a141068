package platform_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/packages"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// TestLab_installation_interrupted takes the power from a host at each step of an
// installation. The next one ends the work.
func TestLab_installation_interrupted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"infiniband-diags", "opensm"} {
		for _, step := range []packages.Step{packages.Unpack, packages.Configure} {
			t.Run(fmt.Sprint(step, " of ", name), func(t *testing.T) {
				t.Parallel()
				l, h, p := startHost(t, labsim.Debian12)
				m := l.Machine("h")
				packages.SetCut(m, name, step)
				boots := m.Boots()
				if err := p.Install(t.Context(), h, "opensm"); err == nil {
					t.Fatal("the installation outlived its host")
				}
				if err := m.AwaitBoot(t.Context(), boots+1); err != nil {
					t.Fatal(err)
				}
				h.Drop()
				if err := p.Install(t.Context(), h, "opensm"); err != nil {
					t.Fatal(err)
				}
				if missing := platform.MissingPackages(p, look(t, h), platform.FeatureOpenSM); len(missing) > 0 {
					t.Errorf("missing in the end: %q", missing)
				}
				for _, v := range l.Violations() {
					t.Error(v)
				}
			})
		}
	}
}

// TestLab_installation_of_others_interrupted: packages that somebody else has begun are
// his. The refusal says which, and what to type.
func TestLab_installation_of_others_interrupted(t *testing.T) {
	t.Parallel()
	const whole = "End the interrupted work on h, then run apply again:\n    sudo dpkg --configure -a\n"
	for name, tt := range map[string]struct {
		left [][4]string
		want []string
	}{
		"another package": {[][4]string{{"nginx", "iF ", "1.22.1-9", ""}},
			[]string{"It has left nginx (half configured). This apply installs opensm and what that needs", whole + "\nHost: h"}},
		"an upgrade of what is needed": {[][4]string{{"infiniband-diags", "iU ", "44.0-3", "44.0-2"}},
			[]string{"It has left infiniband-diags (unpacked, not configured)."}},
		"a removal": {[][4]string{{"opensm", "rF ", "3.3.23-2", "3.3.23-2"}},
			[]string{whole + "    sudo dpkg --remove opensm\n"}},
		"beside packages of ours": {[][4]string{{"opensm", "iHR", "3.3.23-2", ""}, {"nginx", "iU ", "1.22.1-9", ""}},
			[]string{"It has left nginx (unpacked, not configured).", whole + "    sudo apt-get install --reinstall opensm\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, h, p := startHost(t, labsim.Debian12)
			for _, r := range tt.left {
				packages.SetHalfway(l.Machine("h"), r[0], r[1], r[2], r[3])
			}
			err := p.Install(t.Context(), h, "opensm")
			var interrupted *explain.Failure
			if !errors.As(err, &interrupted) {
				t.Fatalf("no refusal: %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(interrupted.Explain(), part) {
					t.Errorf("%q is missing in:\n%s", part, interrupted.Explain())
				}
			}
			if v := platform.MissingPackages(p, look(t, h), platform.FeatureOpenSM); len(v) != 1 {
				t.Error("the refused installation has done something")
			}
		})
	}
}
