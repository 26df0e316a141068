package nmcli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// RenderBond writes the profile of an active-backup bond. primary is the interface that carries
// whenever it can. Linux takes IPoIB in no other mode, and forces the policy of the hardware address
// (bond_enslave, 5.10 to 6.12). To activate the bond activates its ports.
func RenderBond(header string, p Profile, primary string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s[connection]\nid=%s\nuuid=%s\ntype=bond\ninterface-name=%s\nautoconnect-slaves=1\n\n", header, p.ID,
		p.UUID, p.Name)
	// miimon in milliseconds: without it the bond never looks at its ports, and does not fail over.
	fmt.Fprintf(&b, "[bond]\nfail_over_mac=active\nmiimon=100\nmode=active-backup\nprimary=%s\n\n", primary)
	fmt.Fprintf(&b, "[ethernet]\nmtu=%d\n\n[user]\n%s=managed\n", p.MTU, mark)
	v4, v6 := ipconf.Split(p.Addresses)
	renderFamily(&b, "ipv4", v4, p.Routes)
	renderFamily(&b, "ipv6", v6, p.Routes)
	return b.String()
}

// RenderBondPort writes the profile of a port of a bond. The words are those of before 1.46, which
// later versions read too.
func RenderBondPort(header string, p Profile, bond string) string {
	return header + fmt.Sprintf("[connection]\nid=%s\nuuid=%s\ntype=infiniband\nmaster=%s\nslave-type=bond\n\n"+
		"[infiniband]\nmac-address=%s\nmtu=%d\ntransport-mode=%s\n\n[user]\n%s=managed\n", p.ID, p.UUID, bond,
		strings.ToUpper(p.Address), p.MTU, p.Mode, mark)
}

// AddedBeside are the settings of a profile of a bond that our text of it does not have, but for those
// that a Profile holds.
func AddedBeside(ours, text string) []tool.Setting {
	written := Settings(ours)
	return slices.DeleteFunc(Added(text), func(s tool.Setting) bool {
		return s.Name == "ethernet.mtu" || s.Name == "connection.master" || s.Name == "bond.primary" ||
			slices.ContainsFunc(written, func(w tool.Setting) bool { return w.Name == s.Name && w.Value == s.Value })
	})
}
