package netplan

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

var comparePrefixes = cmpopts.EquateComparable(netip.Prefix{}, ipconf.Route{})

func TestRender_readsBack(t *testing.T) {
	want := Device{Section: "ethernets", ID: "ibp1s0", Renderer: RendererNetworkd, Interface: ipconf.Interface{Settings: ipconf.Settings{Mode: ib.ModeConnected, MTU: 65520,
		Routes:    []ipconf.Route{{To: netip.MustParsePrefix("10.0.0.0/8"), Via: netip.MustParseAddr("172.16.0.1")}},
		Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24"), netip.MustParsePrefix("fd00::20/64")}}}}
	text := Render("# head\n", want)
	got, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Device{want}, got, comparePrefixes); diff != "" {
		t.Errorf("%s\n%s", text, diff)
	}
	for _, line := range []string{"renderer: networkd", "link-local: []", "optional: true", "dhcp4: false",
		"ignore-carrier: true"} {
		if !strings.Contains(text, "      "+line+"\n") {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text   string
		covers map[string]bool
		err    bool
	}{
		{"network:\n  version: 2\n  ethernets:\n    ib0: {dhcp4: true}\n", map[string]bool{"ib0": true, "ib1": false}, false},
		{"network:\n  ethernets:\n    any:\n      match: {name: \"ib*\"}\n",
			map[string]bool{"ib0": true, "eno1": false, "any": true}, false},
		{"network:\n  ethernets:\n    nic:\n      match: {macaddress: \"00:11:22:33:44:55\"}\n      set-name: mgmt0\n",
			map[string]bool{"mgmt0": true, "nic": true, "ib0": false}, false},
		{"network:\n  ethernets:\n    nic:\n      match: {macaddress: \"00:11:22:33:44:55\"}\n",
			map[string]bool{"ib0": false}, false},
		{"network:\n  vlans:\n    ib0.5: {id: 5, link: ib0, addresses: [{10.0.0.1/8: {label: \"x:1\"}}]}\n",
			map[string]bool{"ib0.5": true}, false},
		{"", map[string]bool{"ib0": false}, false},
		{"network:\n", map[string]bool{"ib0": false}, false},
		{"network: {ethernets: {ib0: {match: {macaddress: \"80:00:00:48:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:99:99:99\"}}}}", map[string]bool{"ib0": true}, false},
		{"network: {ethernets: {x: {match: {macaddress: \"80:00:00:48:FE:80:00:00:00:00:00:00:E4:1D:2D:03:00:E4:4E:D1\"}}}}",
			map[string]bool{"ib0": true}, false},
		{"network: {ethernets: {x: {match: {macaddress: \"80:00:00:48:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1\", name: \"en*\"}}}}", map[string]bool{"ib0": false}, false},
		{"network: {ethernets: {x: {match: {driver: mlx4_core}}}}", map[string]bool{"ib0": true}, false},
		{"network: {ethernets: {x: {match: {driver: [\"e1000*\", \"ib_*\"]}}}}", map[string]bool{"ib0": true}, false},
		{"network: {ethernets: {x: {match: {driver: [\"e1000*\"]}}}}", map[string]bool{"ib0": false}, false},
		{"network: {ethernets: {x: {match: {name: \"*\"}}}}", map[string]bool{"ib0": true}, false},
		{"network: {ethernets: {x: {match: {}}}}", map[string]bool{"ib0": true}, false},
		{"network: {wifis: {x: {match: {}}}}", map[string]bool{"ib0": false}, false},
		{"\ufeffnetwork: {ethernets: {ib0: {dhcp4: true}}}", map[string]bool{"ib0": true}, false},
		{"\xff\xfen\x00e\x00t\x00", nil, true},
		{"networks: {ethernets: {ib0: {dhcp4: true}}}", nil, true},
		{"network: {ethernets: [ib0]}", nil, true},
		{"network: {ethernets: {ib0: true}}", nil, true},
		{"network: {ethernets: {x: {match: ib0}}}", nil, true},
		{"network: {ethernets: {x: {match: {path: pci-0000}}}}", nil, true},
		{"network:\n\tversion: 2\n", nil, true},
		{"network:\n  ethernets:\n    ib0: {mtu: big}\n", nil, true},
		{"network:\n  ethernets:\n    ib0: {addresses: [10.0.0.1]}\n", nil, true},
	} {
		devices, err := Parse(tt.text)
		if (err != nil) != tt.err {
			t.Errorf("%q: %v", tt.text, err)
		}
		for name, want := range tt.covers {
			got := false
			for _, d := range devices {
				got = got || d.Covers(ipconf.Link{Name: name, PortGUID: 0xe41d2d0300e44ed1, Driver: "mlx4_core"})
			}
			if got != want {
				t.Errorf("%q covers %s: %t", tt.text, name, got)
			}
		}
	}
}

// Captures of others' files must be readable, whatever they set.
func TestParse_captures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, more...)
	if len(files) == 0 {
		t.Fatal("no captures in testdata")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if devices, err := Parse(string(text)); err != nil || len(devices) == 0 {
			t.Errorf("%s: %d devices, %v", f, len(devices), err)
		}
	}
}
