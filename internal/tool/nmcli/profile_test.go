package nmcli

import (
	"bytes"
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata/keyfile")) {
		p, err := Parse(c.Text)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		want := c.Expected
		if p.ID != want["id"] || p.Type != want["type"] || p.Name != want["interface_name"] ||
			p.Mode.String() != want["transport_mode"] ||
			float64(p.MTU) != want["mtu"] || !p.DHCP {
			t.Errorf("%s: %+v, want %v", c.Name, p, want)
		}
	}
	for _, c := range capture.Load(t, os.DirFS("testdata/ifcfg")) {
		p, err := ParseIfcfg(c.Text)
		if err != nil || p.Name != "ib0" || p.Type != "infiniband" || p.Mode != ib.ModeDatagram ||
			p.PortGUID() != 0x7cfe900300992f51 ||
			len(p.Addresses) != 1 || p.Addresses[0].String() != "10.18.130.175/16" || p.ID != "System ib0" {
			t.Errorf("%s: %+v, %v", c.Name, p, err)
		}
	}
}

func samples() []Profile {
	parent := Profile{Autoconnect: true, Ours: true, Type: "infiniband", ID: "infiniband-x", UUID: UUID("x"),
		Interface: ipconf.Interface{
			Address: "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1", Settings: ipconf.Settings{Mode: ib.ModeConnected, MTU: 65520,
				Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24"), netip.MustParsePrefix("fd00::20/64")},
				Routes:    []ipconf.Route{{To: netip.MustParsePrefix("10.20.0.0/16"), Via: netip.MustParseAddr("172.16.0.1")}}},
		}}
	child := parent
	child.UUID = UUID("y")
	child.Interface = ipconf.Interface{Name: "ibp1s0.8001", Parent: "ibp1s0", PKey: 0x8001,
		Settings: ipconf.Settings{Mode: ib.ModeDatagram, MTU: 2044}}
	return []Profile{parent, child}
}

// What is written is read back as it was, also after the real NetworkManager has
// written it anew, which drops the comments.
func TestRender_readsBack(t *testing.T) {
	for _, want := range samples() {
		text := Render("# head\n", want)
		got, err := Parse(text)
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, ipconf.Route{})); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		realtool.Path(t, "nmcli")
		cmd := exec.CommandContext(t.Context(), "nmcli", "--offline", "connection", "modify", "connection.id", want.ID)
		cmd.Stdin = bytes.NewReader([]byte(text))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("nmcli: %v\n%s", err, text)
		}
		got, err = Parse(string(out))
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, ipconf.Route{})); err != nil || diff != "" {
			t.Errorf("after nmcli: %v %s\n%s", err, diff, out)
		}
	}
}
