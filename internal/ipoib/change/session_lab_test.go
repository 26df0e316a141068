package change_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// Neither a change nor a removal takes away what storage, or a session of which
// the path is not known, may ride on.
func TestLab_neither_storage_nor_unknown_sessions_are_cut(t *testing.T) {
	t.Parallel()
	l := withSM(t)
	d := ubuntuDesired()
	apply(t, l, d)
	next := d
	next.Config.Addresses = prefixes("172.16.9.20/24")
	m := l.Machine("intel9")
	for _, c := range []struct {
		code, says    string
		before, after func()
	}{
		{"IP040", "carries nfs4 nas:/tank on /mnt/tank", func() {
			m.FS.Put("/proc/mounts", "nas:/tank /mnt/tank nfs4 rw,vers=4.2,addr=172.16.0.10 0 0\n", 0o444)
		}, func() { m.FS.Put("/proc/mounts", "", 0o444) }},
		// The address that the session came to is gone from the interface.
		{"IP010", "which the session came to", func() {
			m.UpdateNetdev("eno1", func(n *labsim.Netdev) {
				n.Addrs = append([]netip.Prefix{}, prefixes("192.0.2.20/24")...)
				n.SSH = false
			})
		}, func() {}},
	} {
		c.before()
		l.hosts["intel9"].Invalidate()
		_, changed := change.Apply(t.Context(), l.hosts["intel9"], next, change.Options{})
		_, removed := change.Remove(t.Context(), l.hosts["intel9"], d, change.Options{})
		for what, err := range map[string]error{"apply": changed, "remove": removed} {
			var refused *safety.RefusedError
			if !errors.As(err, &refused) || refused.Findings[0].Rule.Code != c.code ||
				refused.Findings[0].Consent != `management_path = ["ibp1s0"]` ||
				(what == "remove") != strings.Contains(refused.Findings[0].WayOut, "so that the state holds it. Then destroy") {
				t.Fatalf("%s: %v", what, err)
			}
			mustContain(t, err.Error(), c.says)
		}
		c.after()
		l.hosts["intel9"].Invalidate()
	}
}
