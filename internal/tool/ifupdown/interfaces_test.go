package ifupdown

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata")) {
		f, err := Parse(c.Text)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		stanzas := []any{}
		for _, s := range f.Stanzas {
			options := map[string]any{}
			for _, o := range s.Options {
				options[o.Name] = o.Value
			}
			stanzas = append(stanzas, map[string]any{"iface": s.Name, "family": s.Family, "method": s.Method,
				"options": options})
		}
		if diff := cmp.Diff(c.Expected["stanzas"], capture.Plain(t, stanzas)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Name, diff)
		}
	}
}

func sample() ipconf.Interface {
	return ipconf.Interface{
		Name: "ibp1s0", Settings: ipconf.Settings{Mode: ib.ModeConnected, MTU: 65520,
			Addresses: []netip.Prefix{netip.MustParsePrefix("172.16.0.20/24"), netip.MustParsePrefix("172.16.1.20/24"),
				netip.MustParsePrefix("fd00::20/64")},
			Routes: []ipconf.Route{{To: netip.MustParsePrefix("10.20.0.0/16"), Via: netip.MustParseAddr("172.16.0.1")}}},
	}
}

func TestRender_readsBack(t *testing.T) {
	f, err := Parse(Render("# head\n", sample()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Interface("ibp1s0")
	if diff := cmp.Diff(sample(), got, cmpopts.EquateComparable(netip.Prefix{}, ipconf.Route{})); err != nil ||
		diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// The real ifup takes what is written, and runs it in the order that the kernel
// wants: the mode before the MTU.
func TestRender_isReadByTheRealTool(t *testing.T) {
	ifup := realtool.Path(t, "ifup")
	dir := t.TempDir()
	file := filepath.Join(dir, "interfaces")
	if err := os.WriteFile(file, []byte(Render("# head\n", sample())), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), ifup, "--no-act", "--verbose", "--force", "--interfaces="+file,
		"--state-dir="+dir, "ibp1s0").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mode, mtu := strings.Index(string(out), "echo connected >"), strings.Index(string(out), "mtu 65520")
	if mode < 0 || mtu < mode || !strings.Contains(string(out), "fd00::20/64") ||
		!strings.Contains(string(out), "route replace 10.20.0.0/16") {
		t.Errorf("ifup would run:\n%s", out)
	}
}

func TestParse_refuses(t *testing.T) {
	for text, want := range map[string]string{
		"address 10.0.0.1\n":           "line 1: an option outside of a stanza",
		"iface x inet static\n  mtu\n": "line 2: an option without a value",
		"auto x\niface\n":              "line 2: a stanza without a name",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A command that goes on in the next line is the same command.
func TestInterface_continuedCommand(t *testing.T) {
	f, err := Parse("iface ib0 inet manual\n\tpost-up ip route add 10.20.0.0/16 \\\n\t\tvia 172.16.0.1\n" +
		"\tup  echo  connected > /sys/class/net/$IFACE/mode\n")
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.Interface("ib0")
	if err != nil || i.Mode != ib.ModeConnected || len(i.Routes) != 1 || i.Routes[0] != sample().Routes[0] {
		t.Errorf("%v: %+v", err, i)
	}
	if unkept, _ := f.Unkept("ib0"); len(unkept) > 0 {
		t.Errorf("not held: %v", unkept)
	}
}

// The ways in which hosts set the mode and load the module by hand. A command for another interface is none of the
// stanza's.
func TestInterface_linesByHand(t *testing.T) {
	for written, mode := range map[string]ib.IPoIBMode{
		"pre-up echo connected > /sys/class/net/$IFACE/mode":           ib.ModeConnected,
		"pre-up echo connected > /sys/class/net/${IFACE}/mode":         ib.ModeConnected,
		"pre-up echo connected > /sys/class/net/ib0/mode || true":      ib.ModeConnected,
		"up echo connected >/sys/class/net/ib0/mode":                   ib.ModeConnected,
		"pre-up echo 'datagram' > /sys/class/net/ib0/mode || :":        ib.ModeDatagram,
		`post-up echo "connected" > "/sys/class/net/$IFACE/mode"`:      ib.ModeConnected,
		"pre-up modprobe ib_ipoib":                                     "",
		"pre-up /sbin/modprobe ib_ipoib || true":                       "",
		"? pre-up echo connected > /sys/class/net/ib1/mode":            "",
		"? pre-up echo connected > '/sys/class/net/$IFACE/mode'":       "",
		"? pre-up echo connected > /sys/class/net/ib0/mode; reboot":    "",
		"? pre-up modprobe ib_ipoib recv_queue_size=512":               "",
		"? pre-up echo connected > /sys/class/net/ib0/mode || ifup x1": "",
	} {
		line, other := strings.CutPrefix(written, "? ")
		f, err := Parse("auto ib0\niface ib0 inet manual\n\tmtu 65520\n\t" + line + "\n")
		if err != nil {
			t.Fatal(err)
		}
		i, err := f.Interface("ib0")
		unkept, lines := f.Unkept("ib0")
		if err != nil || i.Mode != mode || (len(unkept) > 0) != other || other && !slices.Equal(lines[unkept[0]], []int{4}) {
			t.Errorf("%s: mode %q, not held %v in lines %v, %v", line, i.Mode, unkept, lines, err)
		}
	}
}
