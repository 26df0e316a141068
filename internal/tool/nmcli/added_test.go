package nmcli

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// What somebody adds to our profile is named by its line; what NetworkManager writes is not.
func TestAdded(t *testing.T) {
	t.Parallel()
	ours := Render("# header\n", Profile{ID: "x", UUID: "u", Interface: ipconf.Interface{Name: "ib0", Address: "80:00",
		Settings: ipconf.Settings{MTU: 9000, Mode: "connected", Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24")},
			Routes: []ipconf.Route{{To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}}}}})
	for name, tt := range map[string]struct{ text, want string }{
		"ours": {text: ours},
		"as NetworkManager writes it": {text: strings.NewReplacer("# header\n", "", "type=", "timestamp=1700000000\ntype=",
			"[ipv6]\n", "[ipv6]\naddr-gen-mode=default\n").Replace(ours) + "\n[proxy]\n"},
		"other values that are held": {text: strings.NewReplacer("9000", "2044", "172.16.0.20", "172.16.0.21").Replace(ours)},
		"name servers":               {ours + "dns=::1;\n", "line 22: ipv6.dns"},
		"DHCP that is held":          {text: strings.Replace(ours, "manual", "auto\nnever-default=true", 1)},
		"DHCP beside ours":           {strings.Replace(ours, "manual", "auto\nnever-default=false", 1), "line 17: ipv4.never-default"},
		"not at boot": {strings.Replace(ours, "uuid=", "autoconnect=no\nuuid=", 1),
			"line 4: connection.autoconnect"},
		"a metric": {strings.Replace(ours, "0.1\n", "0.1,5\n", 1), "line 18: ipv4.route1"},
		"options of a route": {strings.Replace(ours, "0.1\n", "0.1\nroute1_options=mtu=9\n", 1),
			"line 19: ipv4.route1_options"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tool.NamesOf(Added(tt.text)); got != tt.want {
				t.Errorf("got %q of\n%s", got, tt.text)
			}
		})
	}
}
