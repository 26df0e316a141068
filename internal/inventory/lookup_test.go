package inventory

import (
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func TestSnapshot_what_a_card_carries(t *testing.T) {
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	s := &Snapshot{
		Netdevs: []Netdev{
			{Name: "bond0", Lower: []string{"enp1s0"}}, {Name: "bond0.7", Lower: []string{"bond0"}}, {Name: "enp1s0", PCI: pci},
			{Name: "ib0.8001", PCI: pci, Parent: "ib0"},
		},
		Cards: []Card{{PCI: pci, RDMADevice: "mlx4_0"}},
	}
	for _, c := range []struct {
		storage   Storage
		text, way string
		carried   bool
	}{
		{Storage{Kind: "nfs4", What: "nas:/tank", Where: "/mnt", Dev: fact.Known("bond0.7")}, "nfs4 nas:/tank on /mnt",
			"bond0.7", true},
		{Storage{Kind: "iscsi", What: "connection1:0", Server: "192.0.2.9", Dev: fact.Known("")},
			"iscsi connection1:0 at 192.0.2.9", "", false},
		{Storage{Kind: "srp", What: "host3", RDMA: "mlx4_0"}, "srp host3", "mlx4_0", true},
		{Storage{Kind: "nfs4", What: "b", Dev: fact.Unknown[string]("ip hung")}, "nfs4 b", "", false},
	} {
		on := s.CardsTo(c.storage)
		if c.storage.String() != c.text || c.storage.Way() != c.way || slices.Contains(on, pci) != c.carried {
			t.Errorf("%s: %q by %q over %v", c.text, c.storage, c.storage.Way(), on)
		}
	}
	if got := s.NetdevsOf(pci); !slices.Equal(got, []string{"enp1s0"}) {
		t.Errorf("interfaces of the card: %v", got)
	}
}

// Virtual functions are of the card of their physical function, wherever they are.
func TestSnapshot_virtual_functions(t *testing.T) {
	card, other := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:02:00.0")
	s := &Snapshot{Cards: []Card{{PCI: card}, {PCI: other}}}
	for i, f := range []struct {
		pci string
		of  fact.Of[ib.PCIAddress]
	}{
		{"0000:01:00.1", fact.Known(card)}, {"0000:01:01.0", fact.Known(card)}, {"0000:02:01.0", fact.Known(other)},
		{"0000:05:00.0", fact.Unknown[ib.PCIAddress]("no physfn")},
		{"0000:01:00.2", fact.Unknown[ib.PCIAddress]("no physfn")},
	} {
		pci := ib.MustParsePCIAddress(f.pci)
		s.Cards = append(s.Cards, Card{PCI: pci, Virtual: true, Physical: f.of,
			Ports: []Port{{Number: i + 1, IsSM: fact.Known(true)}}, NodeGUID: 0xe41d2d0300e44ed0})
		s.Netdevs = append(s.Netdevs, Netdev{Name: "v" + f.pci, PCI: pci})
	}
	s.Netdevs = append(s.Netdevs, Netdev{Name: "lo"})
	want := []string{"v0000:01:00.1", "v0000:01:01.0", "v0000:05:00.0", "v0000:01:00.2"}
	if got := s.NetdevsOf(card); !slices.Equal(got, want) {
		t.Errorf("interfaces: %v", got)
	}
	if got := s.Managers(card).Or(nil); !slices.Equal(got, []int{1, 2, 4, 5}) {
		t.Errorf("subnet managers: %v", got)
	}
	if of := s.OfCard(ib.MustParsePCIAddress("0000:05:00.0"), card); of.Known() || of.Why() != "no physfn" {
		t.Errorf("a function of an unknown card: %t, %q", of.Or(false), of.Why())
	}
	// Those of the card do not make its own values those of another card; that of the other does.
	s.Cards[0].NodeGUID = 0xe41d2d0300e44ed0
	if id := s.Identity(&s.Cards[0]); len(id.GUIDs) != 0 {
		t.Errorf("identity with a value of another card: %+v", id)
	}
	s.Cards[4].NodeGUID = 0xe41d2d0300e44fff
	if id := s.Identity(&s.Cards[0]); len(id.GUIDs) != 1 {
		t.Errorf("identity: %+v", id)
	}
}

func TestSnapshot_unknown_is_not_none(t *testing.T) {
	pci := ib.MustParsePCIAddress("0000:01:00.0")
	s := &Snapshot{
		Units:    map[string]Unit{"kubelet.service": {ActiveState: "inactive"}, "k3s.service": {ActiveState: "active"}},
		Commands: map[string]bool{"flock": true, "sha256sum": false},
		Cards:    []Card{{PCI: pci, Ports: []Port{{Number: 2, IsSM: fact.Known(true)}}}},
	}
	units, lacks, managers := s.Active("kubelet.service", "k3s.service"), s.Lacks("flock", "sha256sum"), s.Managers(pci)
	if got := units.Or(nil); !slices.Equal(got, []string{"k3s.service"}) {
		t.Errorf("units: %v", got)
	}
	if got := lacks.Or(nil); !slices.Equal(got, []string{"sha256sum"}) {
		t.Errorf("programs: %v", got)
	}
	if got := managers.Or(nil); !slices.Equal(got, []int{2}) {
		t.Errorf("subnet managers: %v", got)
	}
	s.Cards = append(s.Cards, Card{PCI: pci, RDMADevice: "mlx4_0"})
	if why := s.Managers(pci).Why(); why != "mlx4_0 shows no port" {
		t.Errorf("subnet managers of a card that shows no port: %q", why)
	}
	s.Cards = s.Cards[:1]
	s.UnitsWhy, s.Cards[0].Ports[0].IsSM = "systemd did not answer", fact.Unknown[bool]("cap_mask could not be read")
	if why := s.Active("kubelet.service").Why(); why != s.UnitsWhy {
		t.Errorf("units: %q", why)
	}
	for name, runs := range map[string]fact.Bool{"active": s.Runs("k3s.service"),
		"at boot": s.StartsAtBoot("k3s.service")} {
		if runs.Known() || runs.Why() != s.UnitsWhy {
			t.Errorf("a unit that systemd did not show, %s: %v, %q", name, runs.Or(false), runs.Why())
		}
	}
	if s.Units, s.UnitsWhy = nil, ""; s.Active("kubelet.service").Known() {
		t.Error("units that nobody asked for are known")
	}
	if why := s.Lacks("systemd-run").Why(); !strings.Contains(why, "systemd-run") {
		t.Errorf("programs: %q", why)
	}
	if why := s.Managers(pci).Why(); why != "cap_mask could not be read" {
		t.Errorf("subnet managers: %q", why)
	}
}

// What carries an interface is known if one of those below it is a device, and not what
// is below a tunnel.
func TestSnapshot_HiddenBelow(t *testing.T) {
	s := &Snapshot{Netdevs: []Netdev{
		{Name: "eno1"}, {Name: "ib0", Kind: "ipoib", PCI: ib.MustParsePCIAddress("0000:01:00.0")},
		{Name: "ib0.8001", Kind: "ipoib", Parent: "ib0"}, {Name: "tap0", Kind: "tun"}, {Name: "br-ex", Kind: "openvswitch"},
		{Name: "br0", Kind: "bridge", Lower: []string{"eno1", "tap0"}}, {Name: "br1", Kind: "bridge", Lower: []string{"tap0"}},
		{Name: "br-ex.7", Kind: "vlan", Lower: []string{"br-ex"}}, {Name: "vx0", Kind: "vxlan", Lower: []string{"eno1"}},
		{Name: "eth0", Kind: "veth"}, {Name: "a", Lower: []string{"b"}}, {Name: "b", Lower: []string{"a"}},
	}}
	for dev, want := range map[string]string{
		"eno1": "", "eth0": "", "ib0": "", "ib0.8001": "", "br0": "", "vx0": "",
		"tap0": "tap0 is an interface of kind tun", "br1": "tap0 is an interface of kind tun",
		"br-ex.7": "br-ex is an interface of kind openvswitch", "a": "what carries a leads back to it",
		"gone0": "ip address shows no interface gone0",
	} {
		if why := s.HiddenBelow(dev); (why == "") != (want == "") || !strings.HasPrefix(why, want) {
			t.Errorf("%s: %q, want %q", dev, why, want)
		}
	}
}

// A job is this release's to judge only if its journal says so.
func TestJob_Unreadable(t *testing.T) {
	for version, want := range map[string]string{JournalVersion: "", "": "its file \"request\" is empty or damaged",
		"2": "its journal is of version 2, and this release reads version 1"} {
		j := Job{Request: map[string]string{"version": version}}
		if got := j.Unreadable(); got != want {
			t.Errorf("version %q: %q", version, got)
		}
	}
	if j := (Job{Lost: true}); j.Unreadable() != "" {
		t.Error("a journal that is gone is called foreign")
	}
}
