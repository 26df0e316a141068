package netplan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// What somebody adds to our file is named by its line; other ways to write the same are not.
func TestAdded(t *testing.T) {
	t.Parallel()
	ours := Render("# header\n", Device{ID: "ib.0", Renderer: RendererNetworkd, Interface: ipconf.Interface{Settings: ipconf.Settings{Mode: "connected", MTU: 65520,
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24")}, Routes: []ipconf.Route{{
			To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}}}}})
	for name, tt := range map[string]struct{ text, want string }{
		"ours": {text: ours},
		"as NM's": {text: strings.ReplaceAll(strings.ReplaceAll(ours, "networkd", "NetworkManager"),
			"      ignore-carrier: true\n", "")},
		"other values that are held": {text: strings.NewReplacer("65520", "9000", "172.16.0.20", "172.16.0.21",
			"connected", "datagram").Replace(ours)},
		"other words": {text: strings.NewReplacer("dhcp4: false", "dhcp4: no", "\"", "'").Replace(ours)},
		"in one line": {text: "network: {version: 2, ethernets: {ib0: {mtu: 9, optional: true, addresses: [10.0.0.1/8]}}}"},
		"a comment":   {text: ours + "      # ask Kim\n"},
		"name servers": {ours + "      nameservers:\n        addresses: [1.1.1.1,\n          9.9.9.9]\n",
			"line 21: nameservers.addresses, line 22: nameservers.addresses"},
		"other values": {strings.NewReplacer("dhcp6: false", "dhcp6: true", "optional: true",
			"optional: false").Replace(ours),
			"line 10: dhcp6, line 13: optional"},
		"DHCP that is held": {text: strings.Replace(ours, "dhcp4: false", "dhcp4: true", 1)},
		"options": {strings.NewReplacer(`- "172.16.0.20/24"`, `- "172.16.0.20/24": {label: x}`, `via: "172.16.0.1"`,
			`via: "172.16.0.1"`+"\n          metric: 5").Replace(ours),
			"line 16: addresses.172.16.0.20/24.label, line 20: routes.metric"},
		"a route without a gateway": {ours + "        - to: 10.9.0.0/16\n          scope: link\n",
			"line 20: routes.to, line 21: routes.scope"},
		"another interface": {ours + "    eno5:\n      dhcp4: true\n", "line 21: network.ethernets.eno5.dhcp4"},
		"nothing of ours": {"network:\n  wifis:\n    w: {access-points: {x: {password: p}}}\n",
			"line 3: network.wifis.w.access-points.x.password"},
		"broken": {ours + "   x\n", "not a netplan file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tool.NamesOf(Added(tt.text))
			if tt.want != "not a netplan file" && got != tt.want || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %q of\n%s", got, tt.text)
			}
		})
	}
}
