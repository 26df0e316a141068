package ibnodes

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/capture"
)

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata")) {
		t.Run(c.Name, func(t *testing.T) {
			nodes, err := Parse(c.Text)
			if err != nil {
				t.Fatal(err)
			}
			got := []any{}
			for _, n := range nodes {
				got = append(got, map[string]any{"type": n.Type, "guid": n.GUID.String(), "ports": n.Ports, "name": n.Name})
			}
			if diff := cmp.Diff(c.Expected["nodes"], capture.Plain(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_refusals(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"", "no node in the list: the output is cut, or the fabric was not walked"},
		{"/usr/sbin/ibnetdiscover: iberror: failed: discover failed\n", `line 1: not a node: "/usr/sbin/ibnetdiscover: iberror: failed: discover failed"`},
	} {
		if _, err := Parse(c.output); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestAgainstTheRealTool(t *testing.T) {
	f := ibsimtest.Start(t, ibsimtest.Net(t, "two-hca-one-switch"))
	run := func(argv []string) []Node {
		t.Helper()
		nodes, err := Parse(f.Run("H-e41d2d0300e44ed0", argv[0], argv[1:]...).Stdout)
		if err != nil {
			t.Fatal(err)
		}
		return nodes
	}
	want := []Node{
		{Type: "Ca", GUID: 0xe41d2d0300e44f10, Ports: 2, Name: "pve2 mlx4_0"}, {Type: "Ca", GUID: 0xe41d2d0300e44ed0, Ports: 2, Name: "pve1 mlx4_0"},
		{Type: "Switch", GUID: 0x2c902004a1b00, Ports: 8, Name: "Infiniscale-IV Mellanox Technologies"},
	}
	if diff := cmp.Diff(want, run(Query("ibsim0", 1).Argv())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], run(Hosts("ibsim0", 1).Argv())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
