package ipoib

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/midclt"
)

// tunableStem names our udev tunable; the middleware makes a rules file of it.
func tunableStem(port ib.GUID) string { return "80-infiniband-" + port.Hex() }

func findTunable(all []midclt.Tunable, port ib.GUID) (midclt.Tunable, bool) {
	for _, t := range all {
		if t.Type == "UDEV" && t.Var == tunableStem(port) {
			return t, true
		}
	}
	return midclt.Tunable{}, false
}

// findStored finds the stored row of our interface: by our mark, so that it is
// found also after the interface got another name, or else by the name.
func findStored(all []midclt.Interface, port ib.GUID, name string) (row midclt.Interface, ours, ok bool) {
	for _, i := range all {
		if i.Description == ownerMark(port) {
			return i, true, true
		}
	}
	for _, i := range all {
		if i.Name == name && name != "" {
			return i, false, true
		}
	}
	return midclt.Interface{}, false, false
}

// observeTrueNAS reads what the middleware stores. Answers that do not parse
// count as nothing stored; Check reports them.
func observeTrueNAS(s *inventory.Snapshot, port ib.GUID, o *Observation) {
	p := &o.Persisted
	if tunables, err := midclt.ParseTunables(s.TrueNAS.Tunables); err == nil {
		if t, ok := findTunable(tunables, port); ok {
			p.Found = true
			p.Sources = append(p.Sources, "udev tunable "+t.Var)
			if t.Enabled {
				p.Config.Mode = ruleMode(t.Value, port)
			}
		}
	}
	all, err := midclt.ParseInterfaces(s.TrueNAS.Interfaces)
	if err != nil {
		return
	}
	row, ours, ok := findStored(all, port, o.Name)
	switch {
	case ok && ours:
		p.Found, p.Interface = true, row.Name
		p.Sources = append(p.Sources, "interface "+row.Name)
		p.Config.Addresses = sortPrefixes(row.Addresses())
		if row.MTU != nil {
			p.Config.MTU = *row.MTU
		}
	case ok && !midclt.NothingStored(all):
		o.Unmanaged = describeStored(row)
	}
}

// describeStored says what someone else stored for an interface; nothing if
// the row holds nothing or there is none.
func describeStored(i midclt.Interface) []Unmanaged {
	var parts []string
	if i.Description != "" {
		parts = append(parts, fmt.Sprintf("description %q", i.Description))
	}
	if len(i.Addresses()) > 0 {
		parts = append(parts, "addresses "+joinPrefixes(i.Addresses()))
	}
	if i.MTU != nil {
		parts = append(parts, fmt.Sprintf("MTU %d", *i.MTU))
	}
	if i.DHCP {
		parts = append(parts, "DHCP")
	}
	if len(parts) == 0 {
		return nil
	}
	return []Unmanaged{{Line: "stored with " + strings.Join(parts, ", ")}}
}
