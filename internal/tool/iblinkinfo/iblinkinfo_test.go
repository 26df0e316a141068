package iblinkinfo

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata")) {
		t.Run(c.Name, func(t *testing.T) {
			ports, err := Parse(c.Text)
			if err != nil {
				t.Fatal(err)
			}
			got, up, down := []any{}, 0, 0
			for _, p := range ports {
				got = append(got, fields(p))
				if p.State == "Down" {
					down++
				} else {
					up++
				}
			}
			want := map[string]any{"links": got, "up": up, "down": down}
			if diff := cmp.Diff(any(c.Expected), capture.Plain(t, want)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func fields(p Port) map[string]any {
	lane := strconv.FormatFloat(p.Speed.Lane(), 'f', -1, 64)
	if !strings.Contains(lane, ".") {
		lane += ".0"
	}
	return map[string]any{"guid": p.GUID.String(), "node": p.Name, "lid": p.LID, "port": p.Number, "width": p.Width,
		"lane_gbps": lane, "state": p.State, "phys_state": p.Physical}
}

// The one speed that the tool calls by its name is a degraded link like any other.
func TestParse_couldBe(t *testing.T) {
	const row = `0x248a07030017b128 "x"    612    1[  ] ==( 4X          10.0 Gbps Active/  LinkUp)==>  0xec0d9a030002b810    496   20[  ] "y" (%s)`
	for text, want := range map[string]Port{
		" ":                           {},
		"Could be FDR10":              {CouldBeSpeed: ib.FDR10},
		"Could be 14.0625 Gbps":       {CouldBeSpeed: ib.FDR},
		"Could be 12X Could be FDR10": {CouldBeWidth: 12, CouldBeSpeed: ib.FDR10},
	} {
		ports, err := Parse(strings.Replace(row, "%s", text, 1))
		if err != nil || ports[0].CouldBeSpeed != want.CouldBeSpeed || ports[0].CouldBeWidth != want.CouldBeWidth {
			t.Errorf("%q: %+v, %v", text, ports, err)
		}
	}
	if ports, err := Parse(strings.Replace(row, "%s", "Could be XDR2", 1)); err == nil ||
		!strings.Contains(err.Error(), `"Could be XDR2" does not say`) {
		t.Errorf("%+v, %v", ports, err)
	}
}

func TestParse_refusals(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"", "no port in the list of iblinkinfo: the output is cut, or the fabric was not walked"},
		{"Failed to open foo port 1\n", `line 1: not a port of iblinkinfo: "Failed to open foo port 1"`},
		{`0x248a07030017b128 "x"    612    1[  ] ==( 4X      26.0 Gbps Active/  LinkUp)==>  0xec0d9a030002b810    496   20[  ] "y" ( )`, `line 1: invalid lane rate "26.0": no InfiniBand speed has it: "0x248a07030017b128 \"x\"    612    1[  ] ==( 4X      26.0 Gbps Active/  LinkUp)==>  0xec0d9a030002b810    496   20[  ] \"y\"…"`},
	} {
		if _, err := Parse(c.output); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestAgainstTheRealTool(t *testing.T) {
	const pve1 = "H-e41d2d0300e44ed0"
	f := ibsimtest.Start(t, ibsimtest.Net(t, "one-switch-three-hca"))
	lines, err := Parse(f.Run(pve1, "iblinkinfo", "-l", "-C", "ibsim0", "-P", "1").Stdout)
	if err != nil || len(lines) != 11 {
		t.Fatalf("%d ports, %v", len(lines), err)
	}
	byHeading, err := Parse(f.Run(pve1, "iblinkinfo").Stdout)
	if err != nil || len(byHeading) != 11 {
		t.Fatalf("%d ports, %v", len(byHeading), err)
	}
	for i, p := range byHeading {
		if diff := cmp.Diff(lines[i], p); diff != "" {
			t.Errorf("the two forms differ (-line +heading):\n%s", diff)
		}
	}
	slow := lines[0]
	want := Port{GUID: 0x11750000791fed, Name: "pve3 qib0", Number: 1, Width: 4, Speed: ib.DDR, State: "Initialize",
		Physical: "LinkUp", CouldBeWidth: 12, CouldBeSpeed: ib.QDR}
	if diff := cmp.Diff(want, slow); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dup := ibsimtest.Start(t, ibsimtest.Net(t, "duplicate-guid"))
	ports, err := Parse(dup.Run(pve1, "iblinkinfo", "-l").Stdout)
	if err != nil || !ports[1].Silent || ports[1].Physical != "LinkUp" {
		t.Errorf("%+v, %v", ports, err)
	}
}
