package found

import (
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/networkd"
)

// A drop-in by which the port's interface has the child stays with an apply, also if networkd
// has not come to that interface yet. One from when the interface had another name goes.
func TestStaleFiles_dropIns(t *testing.T) {
	t.Parallel()
	const at = "/etc/systemd/network/50-ib.network.d/infiniband-e41d2d0300e44ed1-8001.conf"
	for child, stale := range map[string]bool{"ibp1s0.8001": false, "ib0.8001": true} {
		s := ipoibtest.Host(func(s *inventory.Snapshot) {
			s.Files[at] = inventory.File{Content: networkd.RenderParent(platform.OwnedHeader(ResourceName), child)}
		})
		l := At(s, ipoib.Ref{PortGUID: ipoibtest.Port, PKey: 0x8001})
		if at != networkd.Dir+"/50-ib.network.d/"+hookName(l.Target) {
			t.Fatalf("the drop-in has the name %s", hookName(l.Target))
		}
		written := l.Files(l.Target, ipoib.Config{})
		if got := slices.Contains(l.StaleFiles(written), at); got != stale {
			t.Errorf("with %s: an apply removes it: %t", child, got)
		}
		if !slices.Contains(l.StaleFiles(nil), at) {
			t.Errorf("with %s: a removal leaves it", child)
		}
	}
}
