package judge

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/ipoibtest"
)

// A port of a card that shows none now is no port that the host has lost.
func TestEarlierPort_of_cards_that_show_no_port(t *testing.T) {
	t.Parallel()
	const lost, at = ib.GUID(0xe41d2d0300e422a1), "/etc/netplan/60-infiniband-e41d2d0300e422a1.yaml"
	own := found.At(ipoibtest.Host(), ipoib.Ref{}).Files(found.Target{Ref: ipoib.Ref{PortGUID: lost}, Name: "ibp1s0"},
		ipoib.Config{Mode: "datagram", MTU: 2044})[0]
	if own.Path != at {
		t.Fatal(own.Path)
	}
	for name, tt := range map[string]struct {
		flash *inventory.Flash
		says  string // empty: the file is of a port that the host has
	}{
		"its card runs no driver": {flash: &inventory.Flash{GUIDs: ib.GUIDSet{Port1: lost}}},
		"another card":            {flash: &inventory.Flash{}, says: "which the host does not have any more, and it can be removed"},
		"a card that was not read": {says: "which the host does not show. Neither the ports nor the flash of 0000:02:00.0 " +
			"could be read, so that the port may be there"},
	} {
		s := ipoibtest.Host(func(s *inventory.Snapshot) {
			s.Files[at] = inventory.File{Content: own.Text}
			s.Cards = append(s.Cards, inventory.Card{PCI: ib.MustParsePCIAddress("0000:02:00.0"), Flash: tt.flash})
		})
		said := strings.Join(found.Lines(found.At(s, ipoib.Ref{PortGUID: ipoibtest.Port}).Unmanaged), "\n")
		if (tt.says == "") != (said == "") || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// After the exchange of a card nobody knows how its interfaces will be called. A file of ours of
// another port or P_Key is not refused for that. Once they have names, what matches is.
func TestCheck_files_of_an_exchanged_card(t *testing.T) {
	t.Parallel()
	const lost = ib.GUID(0xe41d2d0300e422a1)
	place := ipoib.Ref{PortGUID: lost, PKey: 0x8001}
	exchanged := func(parent string, there bool) *inventory.Snapshot {
		old := found.Target{Ref: place, Parent: parent, Name: parent + ".8001"}
		return ipoibtest.Host(func(s *inventory.Snapshot) {
			s.Commands, s.Files = nil, map[string]inventory.File{}
			for _, f := range found.At(s, ipoib.Ref{}).Files(old, ipoib.Config{Mode: "datagram", MTU: 2044, Addresses: ipoibtest.Prefixes("10.0.0.9/24")}) {
				s.Files[f.Path] = inventory.File{Content: f.Text}
			}
			if !there {
				s.Cards[0].Ports[0] = inventory.Port{Number: 1, LinkLayer: "Ethernet"}
				s.Netdevs = s.Netdevs[:1]
			}
		})
	}
	for name, tt := range map[string]struct {
		s      *inventory.Snapshot
		pkey   uint16
		facts  PlanFacts
		blocks bool
		says   string
	}{
		"its port, not there yet":        {s: exchanged("ibp1s0d1", false)},
		"another P_Key, not there yet":   {s: exchanged("ibp1s0d1", false), pkey: 0x8002},
		"the same P_Key, not there yet":  {s: exchanged("ibp1s0d1", false), pkey: 0x8001, says: "may match it"},
		"a resource has it":              {s: exchanged("ibp1s0d1", false), pkey: 0x8001, facts: PlanFacts{LookedAfter: []ipoib.Ref{place}}},
		"the port of another name":       {s: exchanged("ibp1s0d1", true), pkey: 0x8001},
		"of the same name":               {s: exchanged("ibp1s0", true), pkey: 0x8001, blocks: true, says: "which the host does not have any more"},
		"of the same name, goes before":  {s: exchanged("ibp1s0", true), pkey: 0x8001, facts: PlanFacts{Leaving: []ipoib.Ref{place}}},
		"of the same name, another goes": {s: exchanged("ibp1s0", true), pkey: 0x8001, facts: PlanFacts{Leaving: []ipoib.Ref{{PortGUID: lost}}}, blocks: true},
	} {
		d := requestFor(ib.ModeDatagram, 2044, "10.0.0.1/24")
		d.PKey, tt.facts.Port, tt.facts.LinkType = tt.pkey, true, true
		var said string
		blocks := false
		for _, f := range of(finding.InterfaceConfiguredElsewhere, checkOn(tt.s, d, tt.facts)) {
			said += f.Detail()
			blocks = blocks || f.Severity.Blocks()
		}
		if blocks != tt.blocks || !strings.Contains(said, tt.says) || tt.says == "" && !tt.blocks && said != "" {
			t.Errorf("%s: refused %t: %s", name, blocks, said)
		}
	}
}
