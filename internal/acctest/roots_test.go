package acctest

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/labs"
)

// Mounts of a live image of dracut, and of Fedora CoreOS.
const (
	liveRoot = "LiveOS_rootfs / overlay rw,relatime,lowerdir=/run/rootfsbase,upperdir=/run/overlayfs,workdir=/run/ovlwork 0 0\n" +
		"tmpfs /run tmpfs rw,nosuid,nodev 0 0\n"
	ostreeRoot = "composefs / overlay ro,relatime,lowerdir+=/run/ostree/.private/cfsroot-lower 0 0\n" +
		"/dev/sda4 /etc xfs rw,relatime 0 0\n/dev/sda4 /var xfs rw,relatime 0 0\ntmpfs /run tmpfs rw,nosuid,nodev 0 0\n"
)

func (w *Lab) mounts(host, table string) { w.Machine(host).FS.Put("/proc/mounts", table, 0o444) }

// Everything that stores files on a host says that a live image does not keep them, in one finding each, before and
// after the apply. Nothing is said where /etc lasts.
func TestRoots_made_anew(t *testing.T) {
	t.Parallel()
	w := Start(t, Options{Hosts: vpi()})
	drivers(w)
	host := labs.Intel9
	cfg := append(sm(host, nil), ipoib(host, map[string]any{"mode": "datagram"})...)
	cfg[1].After = []string{cfg[0].Address()}
	cfg = append(cfg, w.types(host, "ib", "ib")...)
	cfg = append(cfg, w.port(nil)...)
	ws := w.Workspace()
	says := func(when string, want int) {
		t.Helper()
		said := mustPlan(t, ws, cfg).Diags
		if n := len(said.Warnings().Find("Finding: PF008", "/ of "+host+" is an overlay")); n != want || said.HasError() {
			t.Errorf("%s: %d of %d warnings\n%s", when, n, want, said)
		}
	}
	w.mounts(host, liveRoot)
	says("a live image", len(cfg))
	mustApply(t, ws, cfg)
	emptyPlan(t, ws, cfg)
	says("a live image that has them", len(cfg))
	w.mounts(host, ostreeRoot)
	says("an image-based system with all programs", 0)
}
