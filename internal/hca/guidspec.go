package hca

import (
	"errors"
	"fmt"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// GUIDSpec is how a configuration names GUIDs and MACs: by a base, or one by
// one. Nil and empty mean not given.
type GUIDSpec struct {
	BaseGUID    *ib.GUID
	BaseMAC     *ib.MAC
	Node        *ib.GUID
	Ports       map[int]*ib.GUID // by number, 1 and 2
	SystemImage *ib.GUID
	MACs        map[int]*ib.MAC // by port, 1 and 2
	// OneBase: the chip is a ConnectX-4 or later, see GUIDState.
	OneBase bool
}

// oneBase is the identity of a card that stores one GUID and one MAC, as its flash is read.
func oneBase(guid ib.GUID, mac ib.MAC) ib.GUIDSet {
	return ib.GUIDSet{Node: guid, Port1: guid, SystemImage: guid, MAC1: mac}
}

// Resolve completes the values as mstflint lays them out on ConnectX-3: node, port 1,
// port 2 and system image are base+0 to base+3, the MACs base+0 and base+1. base_mac
// alone gives the GUIDs too, with 0300 in the middle. A single value beside a base
// replaces the derived one. Without any value nothing is asked for. Errors name what is missing or
// does not fit.
func (g GUIDSpec) Resolve() (safety.GUIDRequest, error) {
	if g.OneBase {
		return g.resolveBase()
	}
	var req safety.GUIDRequest
	if err := g.resolveGUIDs(&req); err != nil {
		return safety.GUIDRequest{}, err
	}
	if err := g.resolveMACs(&req); err != nil {
		return safety.GUIDRequest{}, err
	}
	return req, nil
}

// resolveBase is Resolve for a chip that stores one GUID, which node, port 1 and system image
// have in common, and one MAC. Port 2 has the next ones, and no values of its own.
// The tool itself refuses -guids and -macs for these chips.
func (g GUIDSpec) resolveBase() (safety.GUIDRequest, error) {
	req := safety.GUIDRequest{OneBase: true}
	base, has := g.base()
	if !has && g.Node != nil {
		base, has = *g.Node, true
	}
	for _, one := range []*ib.GUID{g.Node, g.Ports[1], g.SystemImage} {
		if one != nil && *one != base {
			return req, fmt.Errorf("GUID %s does not fit %s: a ConnectX-4 or later stores one GUID for node, port 1 and "+
				"system image. Set base_guid alone", *one, base)
		}
	}
	if g.Ports[2] != nil || g.MACs[2] != nil {
		return req, errors.New("a ConnectX-4 or later counts the GUID and the MAC of port 2 from those of port 1. Leave " +
			"port \"2\" out of port_guids and macs")
	}
	mac := g.BaseMAC
	if one := g.MACs[1]; one != nil {
		mac = one
	}
	req.HasGUIDs, req.HasMACs = has, mac != nil
	if has {
		req.BaseGUID, req.Want = base, oneBase(base, 0)
	}
	if mac != nil {
		req.BaseMAC, req.Want.MAC1 = *mac, *mac
	}
	return req, nil
}

// FromMAC asks for the GUIDs that follow from the MAC of port 1, for a configuration without values.
func (s GUIDState) FromMAC(req *safety.GUIDRequest) error {
	base := ib.GUIDFromMAC(s.InFlash.MAC1)
	if s.Blank || !ib.UniqueMAC(s.InFlash.MAC1) {
		return fmt.Errorf("no GUID and no MAC is given, and no GUID follows from the MAC of port 1 in flash, %s: set "+
			"base_mac, base_guid, or single values", s.InFlash.MAC1)
	}
	if s.OneBase {
		req.BaseGUID, req.HasGUIDs, req.Want = base, true, oneBase(base, 0)
		return nil
	}
	req.BaseGUID, req.HasGUIDs = base, true
	var err error
	req.Want.Node, req.Want.Port1, req.Want.Port2, req.Want.SystemImage, err = ib.GUIDsFromBase(base)
	return err
}

func (g GUIDSpec) resolveGUIDs(req *safety.GUIDRequest) error {
	single := g.Node != nil || len(g.Ports) > 0 || g.SystemImage != nil
	base, hasBase := g.base()
	if hasBase {
		req.BaseGUID = base
		req.HasGUIDs = true
		node, p1, p2, sys, err := ib.GUIDsFromBase(base)
		if err != nil {
			return nil //nolint:nilerr // a base that leaves no room is a finding, and a refusal
		}
		req.Want.Node, req.Want.Port1, req.Want.Port2, req.Want.SystemImage = node, p1, p2, sys
	}
	if !single {
		return nil
	}
	if !hasBase && (g.Node == nil || g.Ports[1] == nil) {
		return errors.New("without base_guid or base_mac, node_guid and port_guids[\"1\"] must both be given")
	}
	req.HasGUIDs = true
	return g.singles(req, hasBase)
}

// base gives the GUID that the others follow: base_guid, or the one made from base_mac
// unless every GUID is given.
func (g GUIDSpec) base() (ib.GUID, bool) {
	complete := g.Node != nil && g.Ports[1] != nil && g.SystemImage != nil
	switch {
	case g.BaseGUID != nil:
		return *g.BaseGUID, true
	// Who names every GUID wants base_mac for the MACs alone.
	case g.BaseMAC != nil && !complete:
		return ib.GUIDFromMAC(*g.BaseMAC), true
	}
	return 0, false
}

func (g GUIDSpec) singles(req *safety.GUIDRequest, hasBase bool) error {
	if g.Node != nil {
		req.Want.Node = *g.Node
	}
	if g.Ports[1] != nil {
		req.Want.Port1 = *g.Ports[1]
	}
	switch {
	case g.Ports[2] != nil:
		req.Want.Port2 = *g.Ports[2]
	case !hasBase:
		// mstflint wants four values on a single-port card too.
		next, err := req.Want.Port1.Add(1)
		if err != nil {
			return err
		}
		req.Want.Port2 = next
	}
	switch {
	case g.SystemImage != nil:
		req.Want.SystemImage = *g.SystemImage
	case !hasBase:
		// One card is one system: its node GUID is the usual system image GUID.
		req.Want.SystemImage = *g.Node
	}
	return nil
}

func (g GUIDSpec) resolveMACs(req *safety.GUIDRequest) error {
	if g.BaseMAC != nil {
		req.BaseMAC, req.HasMACs = *g.BaseMAC, true
		second, err := g.BaseMAC.Add(1)
		if err != nil {
			return nil //nolint:nilerr // a base that leaves no room is a finding here, too
		}
		req.Want.MAC1, req.Want.MAC2 = *g.BaseMAC, second
	}
	if len(g.MACs) == 0 {
		return nil
	}
	if g.MACs[1] == nil && g.BaseMAC == nil {
		return errors.New("without base_mac, macs must have that of port 1")
	}
	req.HasMACs = true
	if g.MACs[1] != nil {
		req.Want.MAC1 = *g.MACs[1]
	}
	var err error
	switch {
	case g.MACs[2] != nil:
		req.Want.MAC2 = *g.MACs[2]
	case g.BaseMAC == nil:
		req.Want.MAC2, err = req.Want.MAC1.Add(1)
	}
	return err
}
