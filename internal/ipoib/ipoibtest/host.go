// Package ipoibtest has the host that the tests of an IPoIB interface look at.
//
// It must not be in the binary.
package ipoibtest

import (
	"net/netip"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// testPort is the GUID of its port.
const Port = ib.GUID(0xe41d2d0300e44ed1)

// pfx reads addresses with their prefix lengths.
func Prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, p := range texts {
		all[i] = netip.MustParsePrefix(p)
	}
	return all
}

// testHost is an Ubuntu host with one InfiniBand port and its interface.
func Host(change ...func(*inventory.Snapshot)) *inventory.Snapshot {
	s := &inventory.Snapshot{
		Host: "intel9", OS: inventory.OS{ID: "ubuntu", VersionID: "24.04"},
		Cards: []inventory.Card{{PCI: ib.MustParsePCIAddress("0000:01:00.0"), Driver: "mlx4_core", RDMADevice: "mlx4_0",
			Ports: []inventory.Port{{
				Number: 1, State: "Active", Physical: "LinkUp", LinkLayer: "InfiniBand", LID: 2, SMLID: 1, PortGUID: Port,
			}}}},
		Netdevs: []inventory.Netdev{
			{Name: "eno1", Up: true, MTU: 1500, Addresses: Prefixes("192.0.2.20/24")},
			{Name: "ibp1s0", IB: true, Up: true, MTU: 2044, Mode: "datagram", Connected: true, PortGUID: Port},
		},
		SSH:      inventory.SSHPath{Client: "192.0.2.100", Server: "192.0.2.20", Devs: fact.Known([]string{"eno1"})},
		Commands: map[string]bool{"netplan": true},
		Files: map[string]inventory.File{"/etc/netplan/50-cloud-init.yaml": {
			Content: "network: {version: 2, ethernets: {eno1: {dhcp4: true}}}\n"}},
		Units: map[string]inventory.Unit{"systemd-networkd.service": {ActiveState: "active"}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}
