package midclt

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	freshHost = `[{"id": "eno1", "name": "eno1", "fake": false, "aliases": [], "ipv4_dhcp": true, "ipv6_auto": true,
		"description": "", "mtu": null}, {"id": "ib0", "name": "ib0", "fake": false, "aliases": [], "ipv4_dhcp": true,
		"ipv6_auto": true, "description": "", "mtu": null}]`
	storedHost = `[{"id": "eno1", "name": "eno1", "fake": false, "state": {"mtu": 9000}, "aliases": [], "ipv4_dhcp": true,
		"ipv6_auto": true, "description": "", "mtu": null}, {"id": "ib0", "name": "ib0", "fake": false,
		"aliases": [{"type": "INET6", "address": "fd00::1", "netmask": 64}, {"type": "INET", "address": "10.0.0.1", "netmask": 24}],
		"ipv4_dhcp": false, "ipv6_auto": false, "description": "mine", "mtu": 65520}]`
	bridgedHost = `[{"id": "eno1", "name": "eno1", "fake": false, "aliases": [], "ipv4_dhcp": true, "ipv6_auto": true,
		"description": "", "mtu": null}, {"id": "br0", "name": "br0", "fake": true, "aliases": [], "ipv4_dhcp": false,
		"ipv6_auto": false, "description": "", "mtu": null, "bridge_members": ["eno2"]}]`
)

func stored(t *testing.T, out string) Stored {
	t.Helper()
	s, err := ParseStored([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What the steps of a transaction should have stored is what the middleware says of it.
func TestStored_After(t *testing.T) {
	text, mtu := "mine", 9216
	aliases := Aliases([]netip.Prefix{netip.MustParsePrefix("10.0.0.1/24"), netip.MustParsePrefix("fd00::1/64")})
	add := []Step{Store("eno1", Update{DHCP: true, IPv6Auto: true}),
		Store("ib0", Update{Description: &text, Aliases: &aliases, MTU: &mtu}), StoreRowMTU(7, 65520)}
	if d := stored(t, storedHost).Differences(stored(t, freshHost).After(add...)); len(d) > 0 {
		t.Error(d)
	}
	back := []Step{Drop("ib0"), Drop("eno1")}
	if d := stored(t, freshHost).Differences(stored(t, storedHost).After(back...)); len(d) > 0 {
		t.Error(d)
	}
}

func TestStored_Differences(t *testing.T) {
	got := stored(t, bridgedHost).Differences(stored(t, storedHost))
	want := []Difference{
		{"br0", []string{`bridge_members ["eno2"] instead of nothing`}},
		{"ib0", []string{"aliases nothing instead of 10.0.0.1/24, fd00::1/64", `description nothing instead of "mine"`,
			"mtu nothing instead of 65520"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, out := range []string{"", "null x", `[{"id": "eno1"`, `[{"id": "eno1"}]`, `{}`} {
		if _, err := ParseStored([]byte(out)); err == nil {
			t.Errorf("%q was understood", out)
		}
	}
}
