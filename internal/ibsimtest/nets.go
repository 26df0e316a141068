package ibsimtest

import (
	"embed"
	"fmt"
	"sort"
	"strings"
	"testing"
)

//go:embed nets/*.net
var nets embed.FS

// Net returns the text of a ready-made fabric: two-hca-one-switch,
// one-switch-three-hca (one link at half rate), down-and-back-to-back,
// duplicate-guid, zero-guid. The adapters are H-e41d2d0300e44ed0 (pve1) and
// H-e41d2d0300e44f10 (pve2), their port GUIDs end in one more.
func Net(t testing.TB, name string) string {
	t.Helper()
	text, err := nets.ReadFile("nets/" + name + ".net")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// AdapterGUID is the node GUID of adapter i of a generated fabric; its port GUID
// is one more, its node id "H-" and its sixteen digits.
func AdapterGUID(i int) uint64 { return 0xe41d2d0300000000 + uint64(i)*0x10 }

// AdapterID is the node id of adapter i of a generated fabric.
func AdapterID(i int) string { return fmt.Sprintf("H-%016x", AdapterGUID(i)) }

func switchID(i int) string { return fmt.Sprintf("S-%016x", 0x0002c90300100000+uint64(i)*0x10) }

type link struct {
	port     int
	peer     string
	peerPort int
}

// Generate returns a fabric of n adapters with one port each on 36-port switches:
// one switch up to 36 adapters, otherwise leaves with 18 adapters each and, above
// two leaves, 18 spines. n is at most 648.
func Generate(n int) string {
	links := map[string][]link{}
	connect := func(a string, pa int, b string, pb int) {
		links[a] = append(links[a], link{pa, b, pb})
		links[b] = append(links[b], link{pb, a, pa})
	}
	switches := 1
	if n <= 36 {
		for i := range n {
			connect(switchID(0), i+1, AdapterID(i), 1)
		}
	} else {
		leaves, spines := (n+17)/18, 18
		if leaves <= 2 {
			spines = 1
		}
		switches = leaves + spines
		for i := range n {
			connect(switchID(i/18), i%18+1, AdapterID(i), 1)
		}
		for l := range leaves {
			for s := range spines {
				connect(switchID(l), 19+s, switchID(leaves+s), l+1)
			}
		}
	}
	var b strings.Builder
	b.WriteString("speed=7\nwidth=3\n\n")
	for i := range switches {
		id := switchID(i)
		fmt.Fprintf(&b, "vendid=0x2c9\ndevid=0xc738\nsysimgguid=0x%s\nswitchguid=0x%s(%s)\nSwitch\t36 \"%s\"\t\t# \"sw%d\" "+
			"base port 0 lid 0 lmc 0\n",
			id[2:], id[2:], strings.TrimLeft(id[2:], "0"), id, i)
		list := links[id]
		sort.Slice(list, func(i, j int) bool { return list[i].port < list[j].port })
		for _, l := range list {
			fmt.Fprintf(&b, "[%d]\t\"%s\"[%d]\t\t# \"x\" lid 0 4xQDR\n", l.port, l.peer, l.peerPort)
		}
		b.WriteString("\n")
	}
	for i := range n {
		id, guid := AdapterID(i), AdapterGUID(i)
		fmt.Fprintf(&b, "vendid=0x2c9\ndevid=0x1003\nsysimgguid=0x%x\ncaguid=0x%x\nCa\t1 \"%s\"\t\t# \"node%d mlx4_0\"\n",
			guid+3, guid, id, i)
		for _, l := range links[id] {
			fmt.Fprintf(&b, "[%d](%x) \t\"%s\"[%d]\t\t# lid 0 lmc 0 \"sw\" lid 0 4xQDR\n", l.port, guid+1, l.peer, l.peerPort)
		}
		b.WriteString("\n")
	}
	return b.String()
}
