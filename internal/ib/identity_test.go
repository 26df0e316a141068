package ib_test

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

const pro = "ConnectX-3 Pro"

var (
	mac1, mac2   = ib.MustParseMAC("e4:1d:2d:e4:4e:d0"), ib.MustParseMAC("e4:1d:2d:e4:4f:00")
	guid1, guid2 = ib.MustParseGUID("0xe41d2d0300e44ed0"), ib.MustParseGUID("0xe41d2d0300e44f00")
)

func TestCompare(t *testing.T) {
	full := ib.Identity{Serial: "MT1", Part: "MCX314A-BCCT", Chip: pro, MACs: []ib.MAC{mac1}, GUIDs: []ib.GUID{guid1}}
	with := func(change func(*ib.Identity)) ib.Identity {
		i := full
		change(&i)
		return i
	}
	unread := func(i *ib.Identity) { i.Serial, i.Part = "", "" }
	for name, c := range map[string]struct {
		recorded, now ib.Identity
		want          ib.Likeness
		says          string
	}{
		"itself": {full, full, ib.Same, "serial number is MT1"},
		"another serial": {full, with(func(i *ib.Identity) { i.Serial = "MT2" }), ib.Other,
			"serial number is MT2, and MT1 was recorded"},
		"another card with its product data": {full,
			with(func(i *ib.Identity) { i.MACs, i.GUIDs = []ib.MAC{mac2}, []ib.GUID{guid2} }), ib.Other,
			"serial number is MT1 as recorded, but it has MAC " + mac2.String()},
		"its own new MACs":               {full, with(func(i *ib.Identity) { i.MACs = []ib.MAC{mac2} }), ib.Same, "MT1"},
		"its addresses lost":             {full, ib.Identity{Serial: "MT1", MACs: []ib.MAC{0}}, ib.Same, "MT1"},
		"a record of an earlier release": {ib.Identity{Serial: "MT1", Part: "MCX314A-BCCT", Chip: pro}, full, ib.Same, "MT1"},
		"only MACs recorded, only GUIDs now": {ib.Identity{MACs: []ib.MAC{mac1}}, ib.Identity{GUIDs: []ib.GUID{guid1}},
			ib.Undecided, "cannot be compared"},
		"the first card's addresses on another": {full, with(func(i *ib.Identity) { i.Serial = "MT2" }), ib.Other, "MT2"},
		"another chip": {full, with(func(i *ib.Identity) { i.Chip = "ConnectX-3" }), ib.Other,
			"chip is ConnectX-3"},
		"another part with its addresses": {full, with(func(i *ib.Identity) { i.Part = "764285-B21" }), ib.Same, "MT1"},
		"another part with other addresses": {full, ib.Identity{Serial: "MT1", Part: "764285-B21", MACs: []ib.MAC{mac2}},
			ib.Other, "part number is 764285-B21"},
		"another part, nothing else known": {ib.Identity{Serial: "MT1", Part: "A"},
			ib.Identity{Serial: "MT1", Part: "B"}, ib.Undecided, "part number is B"},
		"product data lost, same MAC": {full, with(unread), ib.Same, mac1.String()},
		"product data lost, MAC was set": {full, with(func(i *ib.Identity) { unread(i); i.MACs = []ib.MAC{mac2} }),
			ib.Same, guid1.String()},
		"product data lost, all others": {full, ib.Identity{Chip: pro, MACs: []ib.MAC{mac2}}, ib.Other,
			"MAC " + mac2.String()},
		"product data lost, nothing left": {full, ib.Identity{Chip: pro}, ib.Undecided, "shows no MAC or GUID"},
		"product data gained":             {with(unread), full, ib.Same, mac1.String()},
		"only a serial recorded, none now": {ib.Identity{Serial: "MT1"}, with(unread), ib.Undecided,
			"no MAC or GUID was recorded"},
		"nothing recorded":                   {ib.Identity{}, full, ib.Undecided, "nothing was recorded"},
		"nothing recorded and nothing there": {ib.Identity{}, ib.Identity{}, ib.Undecided, "nothing was recorded"},
		"only the chip": {ib.Identity{Chip: pro}, ib.Identity{Chip: pro}, ib.Undecided,
			"nothing was recorded"},
		"GUIDs of erased flash": {ib.Identity{GUIDs: []ib.GUID{1<<64 - 1}},
			ib.Identity{GUIDs: []ib.GUID{1<<64 - 1}}, ib.Undecided, "nothing was recorded"},
		"GUIDs of an image": {ib.Identity{GUIDs: []ib.GUID{0x0002c9000100d050}},
			ib.Identity{GUIDs: []ib.GUID{0x0002c9000100d050}}, ib.Undecided, "nothing was recorded"},
		"MACs of an image": {ib.Identity{MACs: []ib.MAC{0x0002c9000001}},
			ib.Identity{MACs: []ib.MAC{0x0002c9000001}}, ib.Undecided, "nothing was recorded"},
		"zero and blank MACs": {ib.Identity{MACs: []ib.MAC{0, 1<<48 - 1}},
			ib.Identity{MACs: []ib.MAC{0, 1<<48 - 1}}, ib.Undecided, "nothing was recorded"},
		"serials that were never set": {ib.Identity{Serial: "000000"}, ib.Identity{Serial: "000000"}, ib.Undecided,
			"nothing was recorded"},
		"serials that stand for none": {ib.Identity{Serial: "Not Specified"}, ib.Identity{Serial: "To be filled by O.E.M."},
			ib.Undecided, "nothing was recorded"},
		"serials of one character": {ib.Identity{Serial: "XXXXXXXX"}, ib.Identity{Serial: "XXXXXXXX"}, ib.Undecided,
			"nothing was recorded"},
		"only a token": {ib.Identity{Serial: "MT-1"}, ib.Identity{Serial: "MT 1"}, ib.Same, "MT-1"},
	} {
		got, why := ib.Compare(c.recorded, c.now)
		if got != c.want || !strings.Contains(why, c.says) {
			t.Errorf("%s: %v, %q; want %v and %q", name, got, why, c.want, c.says)
		}
	}
}

func TestIdentity_text_and_token(t *testing.T) {
	for name, c := range map[string]struct {
		id          ib.Identity
		text, token string
	}{
		"serial": {
			ib.Identity{Serial: "MT1", Part: "MCX314A-BCCT", Chip: pro, MACs: []ib.MAC{mac1}},
			"serial number MT1, part number MCX314A-BCCT, chip ConnectX-3 Pro", "MT1",
		},
		"odd serial": {ib.Identity{Serial: " MT/1, a "}, "serial number MT-1--a", "MT-1--a"},
		"MAC": {ib.Identity{Chip: pro, MACs: []ib.MAC{0, mac1}}, "chip ConnectX-3 Pro, MAC " + mac1.String(),
			"mac-e41d2de44ed0"},
		"GUID":              {ib.Identity{GUIDs: []ib.GUID{guid1}}, "GUID " + guid1.String(), "guid-e41d2d0300e44ed0"},
		"nothing":           {ib.Identity{}, "", ""},
		"a part and commas": {ib.Identity{Part: "a,b"}, "part number a b", ""},
	} {
		text := c.id.Record().String()
		if text != c.text || c.id.Token() != c.token {
			t.Errorf("%s: text %q, token %q; want %q, %q", name, text, c.id.Token(), c.text, c.token)
		}
		if back, err := ib.ParseIdentity(text); err != nil || back.String() != text {
			t.Errorf("%s: read back %+v, %v", name, back, err)
		}
		if back, err := ib.ParseToken(c.token); err != nil || back.Token() != c.token {
			t.Errorf("%s: token read back %+v, %v", name, back, err)
		}
	}
	for _, bad := range []string{"mac-12", "guid-x", "a/b", "a b"} {
		if _, err := ib.ParseToken(bad); err == nil {
			t.Errorf("token %q was accepted", bad)
		}
	}
	if _, err := ib.ParseIdentity("colour red"); err == nil {
		t.Error("an unknown part was accepted")
	}
}

func TestBases(t *testing.T) {
	const g, m = ib.GUID(0xe41d2d0300e44ed0), ib.MAC(0xe41d2de44ed0)
	for name, c := range map[string]struct {
		set  ib.GUIDSet
		guid ib.GUID
		mac  ib.MAC
	}{
		"ConnectX-3":     {ib.GUIDSet{Node: g, Port1: g + 1, Port2: g + 2, SystemImage: g + 3, MAC1: m, MAC2: m + 1}, g, m},
		"later":          {ib.GUIDSet{Node: g, Port1: g, SystemImage: g, MAC1: m}, g, m},
		"one by one":     {ib.GUIDSet{Node: g, Port1: g + 4, Port2: g + 2, SystemImage: g, MAC1: m, MAC2: m + 4}, 0, 0},
		"MACs alone":     {ib.GUIDSet{Node: g, Port1: g + 4, MAC1: m, MAC2: m + 1}, 0, m},
		"nothing at all": {},
	} {
		if guid, mac := c.set.Bases(); guid != c.guid || mac != c.mac {
			t.Errorf("%s: %s %s", name, guid, mac)
		}
	}
}
