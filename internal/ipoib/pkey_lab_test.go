package ipoib_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
)

// A P_Key child is made, survives a restart, is changed and goes again.
func TestLab_Stacks_pkey(t *testing.T) {
	eachStack(t, func(t *testing.T, c stackCase) {
		l := stackLab(t, c)
		d := ubuntuDesired()
		d.PKey = 0x8001
		d.Config = ipoib.Config{Mode: ib.ModeConnected, MTU: 65520, Addresses: prefixes("172.17.0.20/24")}
		if r := apply(t, l, d); r.Observed.Name != "ibp1s0.8001" || r.Observed.Parent != "ibp1s0" {
			t.Errorf("%+v", r.Observed)
		}
		reboot(t, l)
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Fatalf("after a restart: %v", diff)
		}
		d.Config.Mode, d.Config.MTU = ib.ModeDatagram, 2044
		apply(t, l, d)
		if _, err := ipoib.Remove(t.Context(), l.hosts["intel9"], d, ipoib.Options{}); err != nil {
			t.Fatal(err)
		}
		if o := observe(t, l, d); o.Present || o.Persisted.Found {
			t.Errorf("after the removal: %+v", o)
		}
		nothingOfOurs(t, l)
	})
}
