package sysfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePort(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Port
		err  string
	}{
		{"4: ACTIVE\n5: LinkUp\nInfiniBand\n0x1\n0x1\n0x0251486a\n",
			Port{State: "ACTIVE", Physical: "LinkUp", LinkLayer: "InfiniBand", LID: 1, SMLID: 1, IsSM: true}, ""},
		{"2: INIT\n5: LinkUp\nInfiniBand\n0x0\n0x0\n0x02514868\n",
			Port{State: "INIT", Physical: "LinkUp", LinkLayer: "InfiniBand"}, ""},
		{"1: DOWN\n2: Polling\nInfiniBand\n0xffff\n0xffff\n0x02514868\n",
			Port{State: "DOWN", Physical: "Polling", LinkLayer: "InfiniBand"}, ""},
		{"4: ACTIVE\n5: LinkUp\nInfiniBand\n", Port{}, "expected 6 lines"},
		{"ACTIVE\n5: LinkUp\nInfiniBand\n0x1\n0x1\n0x2\n", Port{}, "line 1: expected a port state"},
		{"4: ACTIVE\nLinkUp\nInfiniBand\n0x1\n0x1\n0x2\n", Port{}, "line 2: expected a physical state"},
		{"4: ACTIVE\n5: LinkUp\nInfiniBand\n0x1\nx\n0x2\n", Port{}, "line 5: expected a number in sm_lid"},
	} {
		got, err := ParsePort([]byte(tt.text))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.err)
		}
	}
}

func TestParsePKeys(t *testing.T) {
	got, err := ParsePKeys([]byte("0xffff\n0x0001\n0x0000\n0x0000\n"))
	if diff := cmp.Diff([]uint16{0xffff, 1}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, want := range map[string]string{"": "no P_Key table", "0xffff\nx\n": `expected a P_Key`} {
		if got, err := ParsePKeys([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
