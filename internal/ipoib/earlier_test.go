package ipoib

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// A port of a card that shows none now is no port that the host has lost.
func TestEarlierPort_of_cards_that_show_no_port(t *testing.T) {
	t.Parallel()
	const lost, at = ib.GUID(0xe41d2d0300e422a1), "/etc/netplan/60-infiniband-e41d2d0300e422a1.yaml"
	own := backendOf(StackNetplan, target{port: lost, name: "ibp1s0"}).files(target{port: lost, name: "ibp1s0"},
		Config{Mode: "datagram", MTU: 2044})[0]
	if own.path != at {
		t.Fatal(own.path)
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
		s := testHost(func(s *inventory.Snapshot) {
			s.Files[at] = inventory.File{Content: own.text}
			s.Cards = append(s.Cards, inventory.Card{PCI: ib.MustParsePCIAddress("0000:02:00.0"), Flash: tt.flash})
		})
		said := strings.Join(lines(Observe(s, testPort, 0).Unmanaged), "\n")
		if (tt.says == "") != (said == "") || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %q", name, said)
		}
	}
}
