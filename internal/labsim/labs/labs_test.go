package labs

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// TestServer boots a host of every system: the card driver binds wherever the
// kernel has it, and the management interface is up.
func TestServer(t *testing.T) {
	systems := []labsim.OS{labsim.Ubuntu, labsim.TrueNAS, labsim.Debian12, labsim.Debian13, labsim.RHEL9, labsim.RHEL10,
		labsim.Fedora43, labsim.Arch}
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

// TestNamed starts every lab: with nothing but what its user bought and installed,
// the links are up and no port is active, because nobody runs a subnet manager.
func TestNamed(t *testing.T) {
	for _, name := range Names() {
		if name == "crossflash" {
			continue // Ethernet-only firmware
		}
		l, err := Start(t.TempDir(), labsim.Options{}, Named[name]()...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, m := range l.Machines() {
			c := m.Cards()[0]
			if !c.Bound() {
				t.Errorf("%s: the card of %s has no driver", name, m.Name)
				continue
			}
			for _, p := range c.Ports {
				if v := p.View(); name != "oem" && (v.PhysState != labsim.PhysLinkUp || v.State != labsim.StateInit) {
					t.Errorf("%s: %s port %d: %+v", name, m.Name, p.Number, v)
				}
			}
		}
		for _, v := range l.Violations() {
			t.Errorf("%s: %s", name, v)
		}
		l.Close()
	}
}
