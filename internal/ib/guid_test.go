package ib

import (
	"encoding/json"
	"testing"
)

func TestParseGUID(t *testing.T) {
	const want GUID = 0xe41d2d0300e44ed0
	good := map[string]GUID{
		"0xe41d2d0300e44ed0":      want,
		"0XE41D2D0300E44ED0":      want,
		"e41d2d0300e44ed0":        want,
		"e4:1d:2d:03:00:e4:4e:d0": want,
		"e41d:2d03:00e4:4ed0":     want,
		"0x2c9030012ab30":         0x0002c9030012ab30,
		"0x0":                     0,
		"ffffffffffffffff":        unsetGUID,
	}
	for in, w := range good {
		got, err := ParseGUID(in)
		if err != nil || got != w {
			t.Errorf("ParseGUID(%q) = %v, %v; want %v", in, got, err, w)
		}
	}
	bad := []string{
		"", "0x", "e41d2d0300e44ed", "e41d2d0300e44ed00", "0xe41d2d0300e44ed00", "e41d2d0300e44eg0",
		"e4:1d:2d:03:00:e4:4e", "e41d:2d03:00e4:4ed", "e4:1d2d:03:00:e4:4e:d:00", "0x-1", "+41d2d0300e44ed0",
		"e41d_2d0300e44ed", "e4-1d-2d-03-00-e4-4e-d0", " e41d2d0300e44ed0", "0xe4:1d",
	}
	for _, in := range bad {
		if got, err := ParseGUID(in); err == nil {
			t.Errorf("ParseGUID(%q) = %v, want an error", in, got)
		}
	}
}

func TestGUID_forms(t *testing.T) {
	g := MustParseGUID("0x0002c9030012ab30")
	for name, c := range map[string]struct{ got, want string }{
		"String": {g.String(), "0x0002c9030012ab30"},
		"Hex":    {g.Hex(), "0002c9030012ab30"},
		"Colons": {g.Colons(), "00:02:c9:03:00:12:ab:30"},
		"OUI":    {g.OUI(), "0002c9"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %q, want %q", name, c.got, c.want)
		}
	}
	if g.IsZero() || g.IsUnset() || !GUID(0).IsZero() || !unsetGUID.IsUnset() {
		t.Error("IsZero or IsUnset is wrong")
	}
}

func TestGUID_Add_refuses_to_wrap(t *testing.T) {
	if got, err := GUID(0xfffffffffffffffb).Add(3); err != nil || got != 0xfffffffffffffffe {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct {
		g GUID
		n uint64
	}{{0xfffffffffffffffc, 3}, {0xfffffffffffffffe, 3}, {unsetGUID, 0}, {1, ^uint64(0)}, {0, ^uint64(0)}} {
		if got, err := c.g.Add(c.n); err == nil {
			t.Errorf("%v.Add(%d) = %v, want an error", c.g, c.n, got)
		}
	}
}

func TestGUIDsFromBase(t *testing.T) {
	n, p1, p2, s, err := GUIDsFromBase(0xe41d2d0300a0b0c0)
	if err != nil || n != 0xe41d2d0300a0b0c0 || p1 != n+1 || p2 != n+2 || s != n+3 {
		t.Errorf("got %v %v %v %v, %v", n, p1, p2, s, err)
	}
	if _, _, _, _, err := GUIDsFromBase(0xfffffffffffffffd); err == nil {
		t.Error("a base whose last GUID is all ones must be refused")
	}
}

func TestGUIDFromMAC(t *testing.T) {
	if got := GUIDFromMAC(MustParseMAC("e4:1d:2d:e4:4e:d0")); got != 0xe41d2d0300e44ed0 {
		t.Errorf("got %v", got)
	}
}

func TestText_round_trip(t *testing.T) {
	type all struct {
		G GUID
		M MAC
		A PCIAddress
		V FWVersion
		E PCIAddress
	}
	in := all{G: 1, M: 2, A: MustParsePCIAddress("01:00.0"), V: FWVersion{2, 42, 5000}}
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"G":"0x0000000000000001","M":"00:00:00:00:00:02","A":"0000:01:00.0","V":"2.42.5000","E":""}`
	if string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
	var out all
	if err := json.Unmarshal(b, &out); err != nil || out != in {
		t.Errorf("got %+v, %v; want %+v", out, err, in)
	}
	for _, bad := range []string{`{"G":"x"}`, `{"M":"x"}`, `{"A":"x"}`, `{"V":"x"}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func FuzzParseGUID(f *testing.F) {
	for _, s := range []string{"0xe41d2d0300e44ed0", "e41d:2d03:00e4:4ed0", "e4:1d:2d:03:00:e4:4e:d0", "0x", "::::"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGUID(s)
		if err != nil {
			return
		}
		for _, form := range []string{g.String(), g.Hex()} {
			if back, err := ParseGUID(form); err != nil || back != g {
				t.Errorf("%q parses to %v, but its form %q to %v, %v", s, g, form, back, err)
			}
		}
	})
}
