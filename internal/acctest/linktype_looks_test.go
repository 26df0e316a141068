package acctest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider"
)

// countingPlatform counts how often the places of link types are derived from a snapshot: by who
// asks for them, and once by the store when it writes.
type countingPlatform struct {
	platform.Platform
	looks *atomic.Int64
}

func (p countingPlatform) LinkTypePlaces(s *inventory.Snapshot, card ib.PCIAddress) platform.Places {
	p.looks.Add(1)
	return p.Platform.LinkTypePlaces(s, card)
}

func (p countingPlatform) PersistLinkTypes(ctx context.Context, h *hosts.Host, card ib.PCIAddress,
	types map[int]ib.LinkType) error {
	p.looks.Add(1)
	return p.Platform.PersistLinkTypes(ctx, h, card, types)
}

// The places of link types are derived once at each moment: at the refresh and at the plan; in an
// apply at the plan that the engine makes once more, at the verdict, at a write on the host, and
// when the types are read back.
func TestLinkType_looksOncePerMoment(t *testing.T) {
	t.Parallel()
	for host, tt := range map[string]struct {
		place string
		apply int64
	}{labs.Intel9: {"modprobe.d", 4}, labs.Xeon2zfs: {"mstconfig", 3}} {
		t.Run(tt.place, func(t *testing.T) {
			t.Parallel()
			w := Start(t, Options{Hosts: vpi()})
			if host == labs.Intel9 {
				w.Run(host, "rm /etc/modprobe.d/mlx4.conf")
			}
			ws, cfg := w.Workspace(), w.types(host, "ib", "ib")
			mustApply(t, ws, cfg)
			var looks atomic.Int64
			counting := func(p platform.Platform) platform.Platform { return countingPlatform{p, &looks} }
			ws.factory = func() (tfprotov6.ProviderServer, error) {
				return provider.Server(provider.NewTuned("test", provider.Tuning{Pace: pace, Platform: counting})()), nil
			}
			count := func(walk string, want int64, do func()) {
				t.Helper()
				looks.Store(0)
				do()
				if got := looks.Load(); got != want {
					t.Errorf("%s: the places were derived %d times, expected %d", walk, got, want)
				}
			}
			count("a plan without changes", 2, func() { emptyPlan(t, ws, cfg) })
			cfg = w.types(host, "eth", "eth")
			var plan *Plan
			count("a plan", 2, func() { plan = cleanPlan(t, ws, cfg) })
			count("an apply", tt.apply, func() { applyStep(t, ws, plan, "") })
			emptyPlan(t, ws, cfg)
			if got := ws.Get("infiniband_link_type.it", "stored_in"); got != tt.place {
				t.Errorf("stored_in is %v", got)
			}
		})
	}
}
