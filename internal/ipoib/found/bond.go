package found

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// placeBond says how the bond and the interfaces of its ports are called.
func (t *Target) placeBond(h *hostFacts, bond ipoib.Bond) {
	t.Bond, t.Name, t.driver = bond, bond.Name, ""
	for _, guid := range t.guids() {
		p := BondPort{GUID: guid}
		if n, ok := h.snap.NetdevByPortGUID(guid); ok && n.Parent == "" {
			p.Netdev = n
		}
		_, p.Port, _ = h.snap.CardByPortGUID(guid)
		t.Ports = append(t.Ports, p)
	}
}

// readBond reads the bond and its ports.
func (l *Look) readBond(s *inventory.Snapshot) {
	l.Capable = true
	var slaves []Slave
	for _, p := range l.Ports {
		l.Capable = l.Capable && p.Netdev != nil && p.Netdev.Connected
		if p.Netdev != nil {
			slaves = append(slaves, Slave{p.Name(), p.Netdev.Master == l.Name, ib.IPoIBMode(p.Netdev.Mode), p.Netdev.MTU})
		}
	}
	n, ok := s.Netdev(l.Name)
	if !ok {
		return
	}
	if l.Netdev = n; n.Kind != "bond" {
		return
	}
	l.Present = true
	l.Live = Live{Up: n.Up, Carrier: n.Carrier, Slaves: slaves, BondMode: n.Mode, Config: ipoib.Config{MTU: n.MTU,
		Addresses: ipconf.Global(n.Addresses), Routes: ipconf.SortedRoutes(n.Routes)}}
	if len(slaves) > 0 {
		l.Live.Mode = slaves[0].Mode
	}
}

// bondDifferences says in what a bond and its ports are not as wanted.
func (now Live) bondDifferences(want ipoib.Config) (diff []string) {
	if now.BondMode == "" {
		return nil
	}
	if now.BondMode != "active-backup" {
		diff = append(diff, fmt.Sprintf("the bond has mode %s, not active-backup", now.BondMode))
	}
	if len(now.Slaves) != 2 {
		diff = append(diff, "one of its ports has no interface")
	}
	for n, p := range now.Slaves {
		if !p.In {
			diff = append(diff, p.Name+" is not part of the bond")
		}
		if n > 0 && p.Mode != want.Mode {
			diff = append(diff, fmt.Sprintf("mode of %s is %s, not %s", p.Name, p.Mode, want.Mode))
		}
		if p.In && p.MTU != want.MTU {
			diff = append(diff, fmt.Sprintf("MTU of %s is %d, not %d", p.Name, p.MTU, want.MTU))
		}
	}
	return diff
}

// withParts completes what is persisted of a bond by its other files. Without one of them the bond is
// not made at boot.
func (h *hostFacts) withParts(p StoredConfig, parts []File, service string) StoredConfig {
	var faults []string
	for _, f := range parts {
		if h.saysOurs(f.Path) {
			p.Sources = append(p.Sources, f.Path)
		} else {
			faults = append(faults, f.Path+" is not there, so "+service+" does not make the bond at boot")
		}
	}
	p.Fault = strings.Join(faults, "; ")
	return p
}
