package hostcheck

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

var here = ib.MustParsePCIAddress("0000:01:00.0")

// twoPorts is a host whose session runs over another card than the one at here.
func twoPorts() inventory.Snapshot {
	return inventory.Snapshot{
		Host: "intel9", Cards: []inventory.Card{{PCI: here}},
		Netdevs: []inventory.Netdev{{Name: "eno1"}, {Name: "enp1s0", PCI: here}, {Name: "enp1s0d1", PCI: here}},
		SSH:     inventory.SSHPath{Devs: fact.Known([]string{"eno1"})},
		Routes:  inventory.Routes{Default: []inventory.DefaultRoute{{Dev: "eno1"}}},
	}
}

func TestPath_asksForAllInterfacesAtOnce(t *testing.T) {
	host := twoPorts()
	host.SSH.Devs, host.Routes.Default = fact.Known([]string{"enp1s0"}), []inventory.DefaultRoute{{Dev: "enp1s0d1"}}
	for _, f := range Path(&host, here, nil) {
		if f.Consent != `management_path = ["enp1s0", "enp1s0d1"]` {
			t.Errorf("%s asks for %s", f.Rule.Code, f.Consent)
		}
	}
}

// A path that is not known is judged as one that this card carries, and a card
// without interfaces carries none.
func TestPath_unknown(t *testing.T) {
	host := twoPorts()
	host.SSH.Devs = fact.Unknown[[]string]("ip route get ended with status 2")
	host.Storage = []inventory.Storage{{Kind: "nfs4", What: "nas:/tank", Where: "/mnt", Dev: fact.Unknown[string]("ip hung")}}
	interfaces := host.Netdevs
	host.Netdevs = nil
	if found := Path(&host, here, nil); len(found) != 0 {
		t.Errorf("a card without interfaces: %+v", found)
	}
	host.Netdevs = interfaces
	found := Path(&host, here, []string{"enp1s0"})
	if len(found) != 2 || found[0].Rule != finding.SessionOverCard || found[1].Rule != finding.StorageOverCard {
		t.Fatalf("%+v", found)
	}
	for i, text := range []string{"are not known: ip route get ended with status 2. They may be enp1s0 and enp1s0d1",
		"not known: nfs4 nas:/tank on /mnt (ip hung)"} {
		if f := found[i]; f.Severity != finding.NeedsConsent ||
			f.Consent != `management_path = ["enp1s0", "enp1s0d1"]` || !strings.Contains(f.Evidence, text) {
			t.Errorf("%+v", f)
		}
	}
	for _, f := range Path(&host, here, []string{"enp1s0", "enp1s0d1"}) {
		if f.Severity.Blocks() {
			t.Errorf("consented: %+v", f)
		}
	}
}
