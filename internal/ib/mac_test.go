package ib

import "testing"

func TestParseMAC(t *testing.T) {
	const want MAC = 0xe41d2de44ed0
	for _, in := range []string{"e4:1d:2d:e4:4e:d0", "E4-1D-2D-E4-4E-D0", "e41d2de44ed0", "0xe41d2de44ed0"} {
		if got, err := ParseMAC(in); err != nil || got != want {
			t.Errorf("ParseMAC(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "0x", "e41d2de44ed", "e4:1d:2d:e4:4e", "e4:1d:2d:e4:4e:d", "e4:1d:2d:e4:4e:g0",
		"e4:1d-2d:e4:4e:d0", "e41d2de44ed0ff", "e4:1d:2d:03:00:e4:4e:d0"} {
		if got, err := ParseMAC(in); err == nil {
			t.Errorf("ParseMAC(%q) = %v, want an error", in, got)
		}
	}
}

func TestMAC_properties(t *testing.T) {
	m := MustParseMAC("00:02:c9:00:00:01")
	if m.String() != "00:02:c9:00:00:01" || m.Hex() != "0002c9000001" || m.OUI() != "0002c9" {
		t.Errorf("forms: %s %s %s", m, m.Hex(), m.OUI())
	}
	if m.IsMulticast() || m.IsBroadcast() || m.IsZero() || !MAC(0).IsZero() {
		t.Error("a unicast MAC is taken for something else")
	}
	if !MustParseMAC("010203040506").IsMulticast() || !maxMAC.IsBroadcast() || !maxMAC.IsMulticast() {
		t.Error("group bit not seen")
	}
}

func TestMAC_Add_stays_in_48_bits(t *testing.T) {
	if got, err := MAC(0xfffffffffffd).Add(1); err != nil || got != 0xfffffffffffe {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct {
		m MAC
		n uint64
	}{{0xfffffffffffd, 2}, {maxMAC, 0}, {1, ^uint64(0)}} {
		if got, err := c.m.Add(c.n); err == nil {
			t.Errorf("%v.Add(%d) = %v, want an error", c.m, c.n, got)
		}
	}
}

func FuzzParseMAC(f *testing.F) {
	for _, s := range []string{"e4:1d:2d:e4:4e:d0", "e41d2de44ed0", "0x", "-----"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMAC(s)
		if err != nil {
			return
		}
		if m > maxMAC {
			t.Errorf("%q gives more than 48 bits", s)
		}
		if back, err := ParseMAC(m.String()); err != nil || back != m {
			t.Errorf("%q: %v does not survive its own form: %v, %v", s, m, back, err)
		}
	})
}
