package ifupdown

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
	ours := Render("# header\n", ipconf.Interface{Name: "ib0", Settings: ipconf.Settings{MTU: 9000, Mode: "connected",
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24"), netip.MustParsePrefix("fd00::1/64")},
		Routes:    []ipconf.Route{{To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}}}})
	for name, tt := range map[string]struct{ text, want string }{
		"ours":                       {text: ours},
		"other values that are held": {text: strings.NewReplacer("9000", "2044", "172.16.0.20", "172.16.0.21").Replace(ours)},
		"tabs, comments":             {text: strings.ReplaceAll(ours, "    ", "\t") + "# ask Kim\n"},
		"name servers":               {ours + "    dns-nameservers 1.1.1.1\n", "line 15: dns-nameservers"},
		"a command":                  {ours + "    up tc qdisc add dev ib0\n", "line 15: up"},
		"DHCP":                       {strings.Replace(ours, "inet static", "inet dhcp", 1), "line 4: iface"},
		"another interface": {"auto eno5\niface eno5 inet dhcp\n  mtu 9000\n" + ours,
			"line 1: auto, line 2: iface, line 3: mtu"},
		"other files": {ours + "source x\nmapping ib0\n  script y\n",
			"line 15: source, line 16: mapping, line 17: script"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tool.NamesOf(Added(tt.text)); got != tt.want {
				t.Errorf("got %q of\n%s", got, tt.text)
			}
		})
	}
}
