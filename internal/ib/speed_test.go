package ib

import (
	"math"
	"testing"
)

func TestSpeed_ratesOfLinks(t *testing.T) {
	for name, want := range map[string]float64{
		"SDR": 8, "ddr": 16, "QDR": 32, "FDR10": 40, "FDR": 54.55, "EDR": 100, "HDR": 206.06, "NDR": 412.12, "XDR": 824.24,
	} {
		s, err := ParseSpeed(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.DataRate(4); math.Abs(got-want) > 0.01 {
			t.Errorf("4X %s carries %v Gb/s, want %v", name, got, want)
		}
		if again, err := ParseSpeed(s.String()); again != s || err != nil {
			t.Errorf("%s: got %v, %v", name, again, err)
		}
	}
	if s, err := ParseLaneRate("14.0625"); s != FDR || err != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if QDR >= FDR10 || FDR10 >= FDR {
		t.Error("speeds do not compare by rate")
	}
}

func TestSpeed_refusals(t *testing.T) {
	if _, err := ParseSpeed("QQR"); err == nil ||
		err.Error() != `invalid speed "QQR": want SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR` {
		t.Errorf("got %v", err)
	}
	if _, err := ParseLaneRate("10"); err == nil || err.Error() != `invalid lane rate "10": no InfiniBand speed has it` {
		t.Errorf("got %v", err)
	}
	if s := Speed(0); s.String() != "" || s.Lane() != 0 || s.DataRate(4) != 0 {
		t.Errorf("got %q", s)
	}
}
