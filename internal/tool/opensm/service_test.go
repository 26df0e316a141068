package opensm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

const (
	port1 = ib.GUID(0xe41d2d0300e44ed1)
	port2 = ib.GUID(0xe41d2d0300e44ed2)
)

func TestParseDefault(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Ports
		err  bool
	}{
		{"", Ports{All: true}, false},
		{"# PORTS=NONE\n", Ports{All: true}, false},
		{"PORTS=ALL\n", Ports{All: true}, false},
		{"PORTS=\"ALL\"\n", Ports{All: true}, false},
		{"PORTS=NONE", Ports{}, false},
		{"PORTS=\"0xe41d2d0300e44ed1 0xe41d2d0300e44ed2\"\n", Ports{GUIDs: []ib.GUID{port1, port2}}, false},
		{"PORTS=0xe41d2d0300e44ed1\nPORTS='0xe41d2d0300e44ed2'\n", Ports{GUIDs: []ib.GUID{port2}}, false},
		{"PORTS=mlx4_0\n", Ports{}, true},
	} {
		got, err := ParseDefault(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != tt.err {
			t.Errorf("%q: %v\n%s", tt.text, err, diff)
		}
	}
}

func TestEditDefault(t *testing.T) {
	for _, tt := range []struct {
		text  string
		ports []ib.GUID
		want  string
	}{
		{"# a\nPORTS=ALL\nB=1", []ib.GUID{port1}, "# a\nPORTS=\"0xe41d2d0300e44ed1\"\nB=1"},
		{"PORTS=ALL\nPORTS=NONE\n", nil, "PORTS=NONE\n"},
		{"B=1", []ib.GUID{port1}, "B=1\n# Ports with a subnet manager; Terraform (ibfabric/infiniband) adds and removes its own.\nPORTS=\"0xe41d2d0300e44ed1\"\n"},
	} {
		got := EditDefault(tt.text, tt.ports)
		if got != tt.want {
			t.Errorf("%q: %q", tt.text, got)
		}
		if again := EditDefault(got, tt.ports); again != got {
			t.Errorf("%q: editing twice gives %q", tt.text, again)
		}
		back, err := ParseDefault(got)
		if diff := cmp.Diff(Ports{GUIDs: tt.ports}, back); diff != "" || err != nil {
			t.Errorf("%q reads back as %s %v", got, diff, err)
		}
	}
}

func TestDropIn(t *testing.T) {
	text := DropIn("# head\n", port1)
	if !strings.Contains(text, "\nExecStart=\nExecStart=/usr/sbin/opensm --config /etc/opensm/terraform-0xe41d2d0300e44ed1.conf --guid %I --log_file /var/log/opensm.%I.log\n") {
		t.Errorf("%s", text)
	}
	if g, ok := PortOfUnit(Unit(port1)); !ok || g != port1 {
		t.Errorf("PortOfUnit(%s) = %s, %t", Unit(port1), g, ok)
	}
	if _, ok := PortOfUnit("opensm.service"); ok {
		t.Error("opensm.service has a port")
	}
}
