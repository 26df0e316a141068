package adoption

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
)

// Two cards have one GUID in flash. What is set up for it belongs to the port that has it on
// the wire, or else to one of them: an object is a candidate once.
func TestCandidates_oneOfEach(t *testing.T) {
	t.Parallel()
	const guid = ib.GUID(0xe41d2d0300e44ed1)
	flash := &inventory.Flash{}
	flash.GUIDs.Port1 = guid
	card := func(slot string, port inventory.Port) inventory.Card {
		return inventory.Card{PCI: ib.MustParsePCIAddress(slot), Driver: "mlx4_core", Flash: flash,
			Ports: []inventory.Port{port}}
	}
	on := inventory.Port{Number: 1, State: "Active", LinkLayer: "InfiniBand", PortGUID: guid}
	off := inventory.Port{Number: 1, State: "Down", LinkLayer: "Ethernet"}
	ours := inventory.File{Content: platform.OwnedHeader(smType)}
	for name, cards := range map[string][]inventory.Card{
		"on the wire":  {card("0000:01:00.0", on), card("0000:02:00.0", off)},
		"none of them": {card("0000:01:00.0", off), card("0000:02:00.0", off)},
	} {
		s := &inventory.Snapshot{Host: "nas", Cards: cards, Files: map[string]inventory.File{
			"/etc/systemd/system/opensm@0xe41d2d0300e44ed1.service.d/terraform-infiniband.conf": ours}}
		seen := map[string]int{}
		for _, o := range candidates("nas", s) {
			seen[o.Type+" "+o.ID]++
		}
		if seen[smType+" nas/0xe41d2d0300e44ed1"] != 1 {
			t.Errorf("%s: %v", name, seen)
		}
	}
}
