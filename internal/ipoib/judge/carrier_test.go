package judge

import (
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
)

// NetworkManager activates nothing without a carrier: a plan says so before the apply fails,
// but for an interface that a takeover leaves alone. Other stacks set the addresses anyway.
func TestCheck_without_carrier(t *testing.T) {
	const profile = "/etc/NetworkManager/system-connections/lab.nmconnection"
	const text = "[connection]\nid=lab\nuuid=7a1d5c9e-4a6b-4b7e-9a53-1f0f2a3b4c50\ntype=infiniband\ninterface-name=ibp1s0\n\n" +
		"[infiniband]\nmtu=2044\ntransport-mode=datagram\n\n[ipv4]\nmethod=manual\naddress1=172.16.0.20/24\n\n[ipv6]\nmethod=disabled\n"
	down := func(s *inventory.Snapshot) {
		p := &s.Cards[0].Ports[0]
		p.State, p.Physical, p.SMLID = "Down", "Polling", 0
	}
	unserved := func(s *inventory.Snapshot) {
		p := &s.Cards[0].Ports[0]
		p.State, p.Physical, p.SMLID = "Initializing", "LinkUp", 0
	}
	byNM := func(s *inventory.Snapshot) {
		s.Commands, s.Files = map[string]bool{"nmcli": true}, map[string]inventory.File{}
		s.Units = map[string]inventory.Unit{ipoib.NMUnit: {ActiveState: "active"}}
	}
	byHand := func(s *inventory.Snapshot) {
		s.Files[profile] = inventory.File{Content: text, Mode: "600"}
		n := &s.Netdevs[1]
		n.Up, n.Mode, n.MTU, n.Addresses = true, "datagram", 2044, ipoibtest.Prefixes("172.16.0.20/24")
	}
	activated := func(s *inventory.Snapshot) {
		s.Netdevs[1].NMKnown, s.Netdevs[1].NMManaged, s.Netdevs[1].NMProfile = true, true, "7a1d5c9e-4a6b-4b7e-9a53-1f0f2a3b4c50"
	}
	d := ipoib.Request{Host: "intel9", PortGUID: ipoibtest.Port, Config: ipoib.Config{Mode: "datagram", MTU: 2044, Addresses: ipoibtest.Prefixes("172.16.0.20/24")}}
	taking := withConsent(d, ipoib.Consent{AdoptFiles: []string{profile}})
	for name, c := range map[string]struct {
		change []func(*inventory.Snapshot)
		d      ipoib.Request
		p      PlanFacts
		want   bool
	}{
		"netplan":                       {change: []func(*inventory.Snapshot){down}, d: d},
		"NetworkManager":                {change: []func(*inventory.Snapshot){byNM, down}, d: d, want: true},
		"served":                        {change: []func(*inventory.Snapshot){byNM}, d: d},
		"a subnet manager of this plan": {change: []func(*inventory.Snapshot){byNM, unserved}, d: d, p: PlanFacts{SM: true}},
		"no subnet manager":             {change: []func(*inventory.Snapshot){byNM, unserved}, d: d, want: true},
		"a subnet manager of this plan, and no link": {change: []func(*inventory.Snapshot){byNM, down}, d: d,
			p: PlanFacts{SM: true}, want: true},
		"not read": {change: []func(*inventory.Snapshot){byNM, down, func(s *inventory.Snapshot) {
			s.Cards[0].Ports[0].State, s.Cards[0].Ports[0].Physical = "", ""
		}}, d: d, want: true},
		"taken over, not activated": {change: []func(*inventory.Snapshot){byNM, down, byHand}, d: taking, want: true},
		"taken over, left alone":    {change: []func(*inventory.Snapshot){byNM, down, byHand, activated}, d: taking},
	} {
		found := checkOn(ipoibtest.Host(c.change...), c.d, c.p)
		if got := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Rule == finding.InterfaceNotActivated }); got != c.want {
			t.Errorf("%s: %t, %+v", name, got, found)
		}
	}
}
