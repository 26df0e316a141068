//go:build testbed && linux

package testbed

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
)

// What real opensm does where it cannot do its work leads to the cause.
func TestFabric_names_the_cause(t *testing.T) {
	b := start(t, member("pve1", node1))
	// Nothing of this is about flash.
	b.on(t, "pve1", "chmod a-x /usr/bin/mstflint /usr/bin/mstconfig")
	one := b.socket("pve1")
	for _, c := range []struct {
		name  string
		cause opensm.CauseKind
		plug  func(*testing.T)
	}{
		{"no cable", opensm.CauseCable, func(t *testing.T) { b.switched(t, one)[0].Pull() }},
		{"switched off", opensm.CauseDisabled, func(t *testing.T) {
			b.switched(t, one, b.lone("pve2", node2, node2+1))
			b.on(t, "pve1", "ibportstate -C mlx4_0 -P 1 -D 0 1 disable")
			t.Cleanup(func() {
				if out, err := b.Hosts["pve1"].Exec(context.Background(), "ibportstate -C mlx4_0 -P 1 -D 0 1 enable"); err != nil {
					t.Error(err, out)
				}
			})
		}},
		// Refused before anything is installed or started.
		{"a GUID twice", "", func(t *testing.T) { b.switched(t, one, b.lone("pve2", node1, node1+1)) }},
		{"a GUID twice, back to back", "", func(t *testing.T) { plugged(t, one, b.lone("pve2", node1, node1+1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.plug(t)
			defer b.forget(t, "pve1")
			h := open(t, b, "pve1")
			_, err := opensm.Apply(t.Context(), h, opensm.Request{Host: "pve1", PortGUID: ib.GUID(node1 + 1), Priority: 3},
				opensm.Options{ProofTimeout: 8 * time.Second, Poll: 100 * time.Millisecond})
			if c.cause == "" {
				if err == nil || !strings.Contains(err.Error(), "SM019") ||
					!strings.Contains(err.Error(), "has twice: 0xe41d2d0300e44ed1") {
					t.Errorf("%v", err)
				}
				return
			}
			var not *opensm.NotServingError
			if !errors.As(err, &not) {
				t.Fatalf("%v", err)
			}
			if not.Cause.Kind != c.cause {
				t.Errorf("cause %s: %v\n%s", not.Cause.Kind, err, not.Log)
			}
		})
	}
}
