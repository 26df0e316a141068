package networkd

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// What somebody adds to our files is named by its line; other ways to write the same are not.
func TestAdded(t *testing.T) {
	t.Parallel()
	i := ipconf.Interface{Name: "ib0", MTU: 9000, Mode: "connected", PKey: 0x8001,
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24")}, Routes: []ipconf.Route{{
			To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}}}
	ours := Render("# header\n", i)
	for name, tt := range map[string]struct{ text, want string }{
		"ours":                       {text: ours},
		"child":                      {text: RenderNetdev("", i)},
		"hook":                       {text: RenderParent("", "ib0.8001")},
		"bare parent":                {text: RenderBareParent("", "ib0", "ib0.8001")},
		"other values that are held": {text: strings.NewReplacer("9000", "2044", "172.16.0.20", "172.16.0.21").Replace(ours)},
		"spaces, comments":           {text: strings.ReplaceAll(ours, "=", " = ") + "\n; ask Kim\n"},
		"name servers": {ours + "[Network]\nDNS=1.1.1.1\nDNS=9.9.9.9\n",
			"line 20: Network.DNS, line 21: Network.DNS"},
		"DHCP":                      {strings.Replace(ours, "DHCP=no", "DHCP=yes", 1), "line 10: Network.DHCP"},
		"a metric":                  {ours + "Metric=5\n", "line 19: Route.Metric"},
		"a route without a gateway": {ours + "[Route]\nDestination=10.9.0.0/16\n", "line 20: Route.Destination"},
		"a hook for more":           {RenderParent("", "ib0.8001") + "VLAN=x\n", "line 3: Network.VLAN"},
		"no setting":                {ours + "oops\n", "line 19: Route.neither a section nor an assignment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tool.NamesOf(Added(tt.text)); got != tt.want {
				t.Errorf("got %q of\n%s", got, tt.text)
			}
		})
	}
}
