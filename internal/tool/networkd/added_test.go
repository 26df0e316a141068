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
	i := ipconf.Interface{Name: "ib0", PKey: 0x8001, Settings: ipconf.Settings{MTU: 9000, Mode: "connected",
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24")}, Routes: []ipconf.Route{{
			To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}}}}
	ours, netdev := Render("# header\n", i), RenderNetdev("", i)
	hook, bare := RenderParent("", "ib0.8001"), RenderBareParent("", "ib0", "ib0.8001")
	inHook := func(text string) []tool.Setting { return AddedToParent(text, 0x8001) }
	inBare := func(text string) []tool.Setting { return AddedToBareParent(text, 0x8001) }
	for name, tt := range map[string]struct {
		added      func(string) []tool.Setting
		text, want string
	}{
		"ours":        {added: Added, text: ours},
		"child":       {added: AddedToNetdev, text: netdev},
		"hook":        {added: inHook, text: hook},
		"bare parent": {added: inBare, text: bare},
		"other values that are held": {added: Added,
			text: strings.NewReplacer("9000", "2044", "172.16.0.20", "172.16.0.21").Replace(ours)},
		"spaces, comments": {added: Added, text: strings.ReplaceAll(ours, "=", " = ") + "\n; ask Kim\n"},
		"name servers": {Added, ours + "[Network]\nDNS=1.1.1.1\nDNS=9.9.9.9\n",
			"line 20: Network.DNS, line 21: Network.DNS"},
		"DHCP":                      {Added, strings.Replace(ours, "DHCP=no", "DHCP=yes", 1), "line 10: Network.DHCP"},
		"a metric":                  {Added, ours + "Metric=5\n", "line 19: Route.Metric"},
		"a route without a gateway": {Added, ours + "[Route]\nDestination=10.9.0.0/16\n", "line 20: Route.Destination"},
		"no setting":                {Added, ours + "oops\n", "line 19: neither a section nor an assignment"},
		"a child of ours":           {Added, ours + "[Network]\nIPoIB=ib0.8002\n", "line 20: Network.IPoIB"},
		"an address of a .netdev":   {AddedToNetdev, netdev + "[Network]\nAddress=9.9.9.9/24\n", "line 10: Network.Address"},
		"a hook for more":           {inHook, hook + "VLAN=x\n", "line 3: Network.VLAN"},
		"a hook for another child":  {inHook, "[Network]\nIPoIB=ib0.8002\nIPoIB=ib0.8001\n", "line 2: Network.IPoIB"},
		"an address of a hook":      {inHook, hook + "Address=9.9.9.9/24\n", "line 3: Network.Address"},
		"an address of a parent":    {inBare, bare + "Address=9.9.9.9/24\n", "line 12: Network.Address"},
		"a match of more parents":   {inBare, strings.Replace(bare, "=ib0\n", "=ib*\n", 1), "line 2: Match.Name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tool.NamesOf(tt.added(tt.text)); got != tt.want {
				t.Errorf("got %q of\n%s", got, tt.text)
			}
		})
	}
}
