package infiniband

import (
	"context"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// vendstat knows -N: what the agent of a switch of Mellanox says of its firmware (vendstat.c of
// infiniband-diags). Other nodes do not answer a datagram of this class.
func vendstat(_ context.Context, p *labsim.Proc) int {
	o, bad := labsim.ParseArgs(p.Args[1:], false, append(portFlags, "N N", "t timeout=")...)
	if bad != "" || len(o.Args) != 1 || !o.Has("N") {
		return p.Unknown("form of vendstat " + bad)
	}
	s := stateOf(p.Machine)
	from := s.openForSMP(p, o)
	if from == nil {
		return 255
	}
	a := s.aimAt(from, false, o.Args[0])
	if a.arrived == nil || a.arrived.Node.Firmware == "" {
		p.Errorf("ibwarn: [%d] _do_madrpc: recv failed: Connection timed out\n", p.PID)
		p.Errorf("ibwarn: [%d] mad_rpc_rmpp: _do_madrpc failed; dport (%s)\n", p.PID, a.text)
		p.Errorf("vendstat: method 1, attribute 1 failure\n")
		return iberror(p, "classportinfo query")
	}
	n := a.arrived.Node
	p.Printf("hw_dev_rev:  0x00a1\nhw_dev_id:   0x%04x\nhw_uptime:   0x0009fbf1\nfw_version:  %s\nfw_build_id: 0x0000\n"+
		"fw_date:     11/08/2012\nfw_psid:     '%s'\nfw_ini_ver:  3\nsw_version:  00.00.00\n", n.DeviceID, n.Firmware, n.PSID)
	return 0
}
