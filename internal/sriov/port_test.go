package sriov

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

const cardGUID ib.GUID = 0xec0d9a030076eae0

var slot = ib.MustParsePCIAddress("0000:01:00.0")

func TestDerived(t *testing.T) {
	for number, want := range map[int]ib.GUID{0: 0xee0d9a030176eae0, 1: 0xee0d9a030276eae0, 253: 0xee0d9a03fe76eae0} {
		if got := Derived(cardGUID, number); got != want {
			t.Errorf("function %d has %s, want %s", number, got, want)
		}
	}
	seen := map[ib.GUID]bool{}
	for _, card := range []ib.GUID{cardGUID, cardGUID + 1, 0xec0d9affff76eae2} {
		for number := range 254 {
			seen[Derived(card, number)] = true
		}
	}
	if len(seen) != 3*254 {
		t.Errorf("%d GUIDs are different", len(seen))
	}
}

// What is given comes before what is derived, and a unit is read back as it was written.
func TestRequest_complete(t *testing.T) {
	q := Request{Number: 3, LinkState: "auto", PortGUIDs: map[int]ib.GUID{1: 0x0202c90300000001},
		NodeGUIDs: map[int]ib.GUID{2: 0x0202c90300000002}}
	q.Complete(cardGUID)
	want := []Port{{Node: 0xee0d9a030176eae0, Port: 0xee0d9a030176eae0, LinkState: "auto"},
		{Node: 0x0202c90300000001, Port: 0x0202c90300000001, LinkState: "auto"},
		{Node: 0x0202c90300000002, Port: 0xee0d9a030376eae0, LinkState: "auto"}}
	if !slices.Equal(q.Ports, want) {
		t.Errorf("got %v", q.Ports)
	}
	text := unit(slot, q.Number, q.Ports)
	if got := portsOf(text); !slices.Equal(got, want) || numberOf(text) != 3 {
		t.Errorf("the unit says %d functions %v\n%s", numberOf(text), got, text)
	}
	if text = unit(slot, 3, nil); portsOf(text) != nil || strings.Count(text, "ExecStart=") != 1 {
		t.Errorf("a unit without ports:\n%s", text)
	}
	if q.LinkState = ""; q.derives() {
		t.Error("without a link state nothing is derived")
	}
	if q.Complete(cardGUID); q.Ports != nil {
		t.Errorf("without a link state: %v", q.Ports)
	}
}

func TestCheckGUIDs(t *testing.T) {
	other := ib.MustParseGUID("0x248a070300000001")
	lab := clash.Facts{
		Cards: []clash.Holder{{Host: "b", PCI: slot, GUIDs: ib.GUIDSet{Node: other}},
			{Host: "c", PCI: slot, Function: "virtual function 4", GUIDs: ib.GUIDSet{Node: other + 9, Port1: other + 9}}},
		Fabric: fact.Known([]clash.Node{{Name: "switch", Via: "a mlx5_0/1", GUIDs: []ib.GUID{other + 20}}}),
	}
	for name, c := range map[string]struct {
		ports map[int]ib.GUID
		want  string
	}{
		"of another card":              {map[int]ib.GUID{0: other}, "GU006 virtual function 0 of a/0000:01:00.0: port 1 GUID 0x248a070300000001 is the node GUID of b/0000:01:00.0"},
		"of another card's function":   {map[int]ib.GUID{1: other + 9}, "GU006 virtual function 1 of a/0000:01:00.0: port 1 GUID 0x248a07030000000a is the node GUID of virtual function 4 of c/0000:01:00.0"},
		"of a node of the fabric":      {map[int]ib.GUID{0: other + 20}, `GU015 virtual function 0 of a/0000:01:00.0: port 1 GUID 0x248a070300000015 is a GUID of "switch", which a mlx5_0/1 sees`},
		"of the card itself":           {map[int]ib.GUID{0: cardGUID}, "GU009 virtual function 0 of a/0000:01:00.0: 0xec0d9a030076eae0 is the GUID of the card, too"},
		"of another function":          {map[int]ib.GUID{0: other + 30, 1: other + 30}, "GU009 virtual function 1 of a/0000:01:00.0: 0x248a07030000001f is the GUID of virtual function 0, too"},
		"of a group":                   {map[int]ib.GUID{0: 0x0102c90300000001}, "GU001 virtual function 0 of a/0000:01:00.0: 0x0102c90300000001"},
		"with digits that are missing": {map[int]ib.GUID{0: 1}, "GU001 virtual function 0 of a/0000:01:00.0: 0x0000000000000001"},
		"free":                         {map[int]ib.GUID{0: other + 40}, ""},
	} {
		q := Request{Host: "a", Card: slot, Number: 2, LinkState: "auto", PortGUIDs: c.ports}
		q.Complete(cardGUID)
		var got []string
		for _, f := range CheckGUIDs(Look{GUID: cardGUID}, q, lab) {
			got = append(got, f.Rule.Code+" "+f.Evidence)
			if f.Severity != finding.Refuse || f.Attribute != "port_guids" {
				t.Errorf("%s: %s at %s", name, f.Severity, f.Attribute)
			}
		}
		if strings.Join(got[:min(len(got), 1)], "") != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	q := Request{Host: "a", Card: slot, Number: 1, LinkState: "auto"}
	q.Complete(cardGUID)
	lab.Fabric = fact.Unknown[[]clash.Node]("nobody has looked")
	if found := CheckGUIDs(Look{GUID: cardGUID}, q, lab); len(found) != 1 || found[0].Rule != finding.GUIDInFabric {
		t.Errorf("a fabric that was not read: %v", found)
	}
}

// The script binds anew who runs with another GUID, and leaves those alone that run with theirs, or belong to a guest.
func TestPortsScript(t *testing.T) {
	root := t.TempDir()
	devices, ip := filepath.Join(root, "devices"), filepath.Join(root, "ip.log")
	for name, text := range map[string]string{
		"devices/card/net/ib0/type": "32\n", "devices/card/net/eth0/type": "1\n", "devices/f1/x": "", "devices/f2/x": "",
		"devices/f0/infiniband/mlx5_1/node_guid":      "ee0d:9a03:0176:eae0\n",
		"devices/f0/infiniband/mlx5_1/ports/1/gids/0": "fe80:0000:0000:0000:ee0d:9a03:0176:eae0\n",
		"devices/f1/infiniband/mlx5_2/node_guid":      "0000:0000:0000:0000\n",
		"devices/f1/infiniband/mlx5_2/ports/1/gids/0": "fe80:0000:0000:0000:0000:0000:0000:0000\n",
		"drivers/mlx5_core/module":                    "", "drivers/vfio-pci/module": "", "bin/modprobe": "#!/bin/sh\n",
		"bin/ip": "#!/bin/sh\necho \"$@\" >>" + ip + "\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"f0/driver": "mlx5_core", "f1/driver": "mlx5_core", "f2/driver": "vfio-pci"}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if err := os.Symlink("../../drivers/"+links[name], filepath.Join(devices, name)); err != nil {
			t.Fatal(err)
		}
	}
	q := Request{Card: slot, Number: 3, LinkState: "auto"}
	q.Complete(cardGUID)
	args := []string{"-c", strings.NewReplacer("/sys/bus/pci/devices", devices, "/sys/bus/pci/drivers",
		filepath.Join(root, "drivers")).Replace(portsScript), "sh", "card"}
	for number, name := range []string{"f0", "f1", "f2"} {
		if err := os.Symlink("../"+name, filepath.Join(devices, "card", "virtfn"+string(rune('0'+number)))); err != nil {
			t.Fatal(err)
		}
		args = append(args, arguments(number, q.Ports[number])...)
	}
	cmd := exec.Command("sh", args...)
	cmd.Env = []string{"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for file, want := range map[string]string{
		"drivers/mlx5_core/unbind": "f1\n", "drivers/mlx5_core/bind": "f1\n",
		"ip.log": "link set dev ib0 vf 0 node_guid ee:0d:9a:03:01:76:ea:e0 port_guid ee:0d:9a:03:01:76:ea:e0\n" +
			"link set dev ib0 vf 0 state auto\n" +
			"link set dev ib0 vf 1 node_guid ee:0d:9a:03:02:76:ea:e0 port_guid ee:0d:9a:03:02:76:ea:e0\n" +
			"link set dev ib0 vf 1 state auto\n" +
			"link set dev ib0 vf 2 node_guid ee:0d:9a:03:03:76:ea:e0 port_guid ee:0d:9a:03:03:76:ea:e0\n" +
			"link set dev ib0 vf 2 state auto\n",
	} {
		if got, err := os.ReadFile(filepath.Join(root, file)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
}
