package labs

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// TestServer boots a host of every system: the card driver binds wherever the
// kernel has it, and the management interface is up.
func TestServer(t *testing.T) {
	systems := []labsim.OS{labsim.Ubuntu, labsim.TrueNAS, labsim.Debian12, labsim.Debian13, labsim.RHEL9, labsim.RHEL10, labsim.Arch}
	var hosts []Host
	for i, os := range systems {
		hosts = append(hosts, Server(string(os), os, "192.0.2.10", i))
	}
	l, err := Start(t.TempDir(), labsim.Options{}, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, os := range systems {
		m := l.Machine(string(os))
		if got, want := m.Cards()[0].Bound(), os != labsim.RHEL10; got != want {
			t.Errorf("%s: card bound: %t", os, got)
		}
		if d, ok := m.Netdev("eno1"); !ok || !d.Up || len(d.Addrs) == 0 {
			t.Errorf("%s: management interface: %+v", os, d)
		}
	}
	for _, v := range l.Violations() {
		t.Error(v)
	}
}
