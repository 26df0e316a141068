package fabric

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// A fabric without a master may have somebody who is about to become one.
func TestCompare_standby_may_take_over(t *testing.T) {
	const nobody = "No subnet manager rules this fabric: ports that come up stay at Initializing and get no LID, and nobody " +
		"answers for paths and groups."
	for _, c := range []struct {
		managers []SM
		want     string
	}{
		{nil, nobody},
		{[]SM{{GUID: 3, State: "not active"}}, nobody},
		{[]SM{{GUID: 1, State: "standby", Node: &Node{Name: "pve1 mlx4_0"}}, {GUID: 2, State: "discovering"}},
			nobody + " One may take over: pve1 mlx4_0 is standby, 0x0000000000000002 is discovering."},
	} {
		f := &Fabric{Ruled: fact.Known(false), SMs: c.managers}
		if got := f.Compare(nil, nil, nil); len(got) != 1 || got[0].Kind != NoManager || got[0].Message != c.want {
			t.Errorf("got %+v\nwant %s", got, c.want)
		}
	}
}

// Subnet managers with different keys ignore each other, and each shows itself as the master.
func TestCompare_more_than_one_master(t *testing.T) {
	first := SM{GUID: 1, State: "master", Node: &Node{Name: "r730a mlx5_0"}}
	f := &Fabric{Ruled: fact.Known(true), SMs: []SM{first, {GUID: 2, State: "master"}, {GUID: 3, State: "standby"}}}
	const want = "2 subnet managers rule this fabric: r730a mlx5_0, 0x0000000000000002. Each sets up the ports without the " +
		"others, so that LIDs, paths and partitions can change under way. If none of them is just taking over, give all of them " +
		"one sm_key and restart them."
	if got := f.Compare(nil, nil, nil); len(got) != 1 || got[0].Kind != Masters || got[0].Message != want {
		t.Errorf("got %+v\nwant %s", got, want)
	}
	f.SMs = []SM{first, {GUID: 3, State: "standby"}}
	if got := f.Compare(nil, nil, nil); len(got) != 0 {
		t.Errorf("one master: %+v", got)
	}
}
