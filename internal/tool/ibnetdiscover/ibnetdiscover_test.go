package ibnetdiscover

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ibsimtest"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

// refused are captures that their publishers made unreadable.
var refused = map[string]string{
	"cx7-ndr-switch-redacted": `line 4: invalid GUID "0x<redacted>"`,
}

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata")) {
		t.Run(c.Name, func(t *testing.T) {
			r, err := Parse(c.Text)
			if want, ok := refused[c.Name]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got error %v, want one with %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			nodes := []any{}
			for _, n := range r.Nodes {
				nodes = append(nodes, nodeFields(n, strings.Contains(c.Text, "switchguid=0x200001(")))
			}
			if diff := cmp.Diff(c.Expected["nodes"], capture.Plain(t, nodes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// nodeFields gives a node the shape of the captures' expectations, which keep
// the spelling of the report.
func nodeFields(n Node, portGUIDs bool) map[string]any {
	letter := map[string]string{"Switch": "S", "Ca": "H"}
	links := []any{}
	for _, l := range n.Links {
		f := map[string]any{
			"port": l.Port, "peer": fmt.Sprintf("%s-%016x", letter[l.PeerType],
				uint64(l.Peer)), "peer_port": l.PeerPort, "peer_name": l.PeerName, "peer_lid": l.PeerLID,
		}
		if l.Width > 0 {
			f["width"], f["speed"] = l.Width, l.Speed.String()
		}
		if l.PeerPortGUID != 0 {
			f["peer_port_guid"] = fmt.Sprintf("%x", uint64(l.PeerPortGUID))
		}
		if l.PortGUID != 0 {
			f["port_guid"], f["lid"], f["lmc"] = fmt.Sprintf("%x", uint64(l.PortGUID)), l.LID, l.LMC
		}
		links = append(links, f)
	}
	f := map[string]any{
		"vendid": fmt.Sprintf("0x%x", n.VendorID), "devid": fmt.Sprintf("0x%x", n.DeviceID), "sysimgguid": fmt.Sprintf("0x%x",
			uint64(n.SystemID)),
		"type": n.Type, "num_ports": n.Ports, "id": fmt.Sprintf("%s-%016x", letter[n.Type],
			uint64(n.GUID)), "name": n.Name, "links": links,
	}
	switch {
	case n.Type == "Ca":
		f["caguid"] = fmt.Sprintf("0x%x", uint64(n.GUID))
	case portGUIDs:
		f["switchguid"], f["lid"], f["lmc"] = fmt.Sprintf("0x%x(%x)", uint64(n.GUID), uint64(n.GUID)), n.LID, n.LMC
	default:
		// The old report names the chassis' GUID here and the chip's in the id.
		f["switchguid"], f["lid"], f["lmc"] = "0x8f10400411a08", n.LID, n.LMC
	}
	return f
}

func TestParse_refusals(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{"", "no node in the report of ibnetdiscover: the output is cut, or the fabric was not walked"},
		{"ibnetdiscover: iberror: failed: discover failed\n",
			`line 1: neither a node nor a link of a report of ibnetdiscover: "ibnetdiscover: iberror: failed: discover failed"`},
		{"[1]\t\"S-0002c902004a1b00\"[1]\t\t# \"x\" lid 2 4xQDR\n",
			`line 1: a link before any node: "[1]\t\"S-0002c902004a1b00\"[1]\t\t# \"x\" lid 2 4xQDR"`},
		{"vendid=0x2c9\ndevid=zz\n", `line 2: strconv.ParseUint: parsing "zz": invalid syntax: "devid=zz"`},
	} {
		if _, err := Parse(c.output); err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// A description is whatever somebody wrote to the card.
func TestParse_hostileDescriptions(t *testing.T) {
	const name = `"] lid 7 4xQDR \ <script> "x`
	r, err := Parse("Ca\t2 \"H-e41d2d0300e44ed0\"\t\t# \"" + name +
		"\"\n[1](e41d2d0300e44ed1) \t\"S-0002c902004a1b00\"[1]\t\t# lid 1 lmc 0 \"" + name + "\" lid 2 4xFDR10\n")
	if err != nil {
		t.Fatal(err)
	}
	if l := r.Nodes[0].Links[0]; r.Nodes[0].Name != name || l.PeerName != name || l.PeerLID != 2 || l.Speed != ib.FDR10 {
		t.Errorf("%+v", r)
	}
}

func TestReason(t *testing.T) {
	for output, want := range map[string]Failure{
		"ibwarn: [1] get_abi_version: can't read ABI version from /sys/class/infiniband_mad/abi_version (No such file or directory): is ib_umad module loaded?\nibwarn: [1] mad_rpc_open_port: can't open UMAD port (mlx4_0:1)\n": NoUmad,
		"ibwarn: [1] mad_rpc_open_port: can't open UMAD port (foo:1)\n./libibnetdisc/ibnetdisc.c:802; can't open MAD port (foo:1)\n":                                                                                              NoPort,
		"Segmentation fault": OtherReason,
	} {
		if got := Reason(output); got != want {
			t.Errorf("%s: got %d, want %d", output, got, want)
		}
	}
	if got := Query("mlx4_0", 2); got.String() != "ibnetdiscover -C mlx4_0 -P 2 --node-name-map /dev/null" || got.Changing() || !got.Root() {
		t.Errorf("got %s", got)
	}
}

func TestAgainstTheRealTool(t *testing.T) {
	const pve1 = "H-e41d2d0300e44ed0"
	for name, want := range map[string]struct{ nodes, links, duplicates, zero int }{
		"two-hca-one-switch":    {3, 4, 0, 0},
		"one-switch-three-hca":  {4, 6, 0, 0},
		"duplicate-guid":        {2, 2, 1, 0},
		"zero-guid":             {3, 4, 0, 1},
		"down-and-back-to-back": {1, 0, 0, 0},
	} {
		f := ibsimtest.Start(t, ibsimtest.Net(t, name))
		out := f.Run(pve1, "ibnetdiscover", Query("ibsim0", 1).Argv()[1:]...)
		r, err := Parse(out.Stdout)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out.Stdout)
		}
		links, zero := 0, 0
		for _, n := range r.Nodes {
			links += len(n.Links)
			if n.GUID == 0 {
				zero++
			}
		}
		if len(r.Nodes) != want.nodes || links != want.links || len(Duplicates(out.Stderr)) != want.duplicates ||
			zero != want.zero || r.FromNode != 0xe41d2d0300e44ed0 {
			t.Errorf("%s: %d nodes, %d links, %d duplicates, zero %d, from %s\n%s%s", name, len(r.Nodes), links,
				len(Duplicates(out.Stderr)), zero, r.FromNode, out.Stdout, out.Stderr)
		}
	}
}
