package modprobe

import "testing"

func TestParseOption(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{"options mlx4_core port_type_array=1,1\n", "1,1", true},
		{"# options mlx4_core port_type_array=1,1\n", "", false},
		{"options mlx4-core log_num_mgm_entry_size=-1 port_type_array=2\n", "2", true},
		{"options mlx4_core \\\n  port_type_array=1,2\n", "1,2", true},
		{"options mlx4_core port_type_array=1,1\noptions mlx4_core port_type_array=2,2\n", "2,2", true},
		{"options mlx4_en port_type_array=1,1\n", "", false},
		{"install mlx4_core true\n", "", false},
	} {
		if got, ok := ParseOption(tt.text, "mlx4_core", "port_type_array"); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %q, %t", tt.text, got, ok)
		}
	}
}

func TestParseLoadList(t *testing.T) {
	got := ParseLoadList("# comment\n; another\nib_ipoib\n\n  ib_umad \n")
	if len(got) != 2 || got[0] != "ib_ipoib" || got[1] != "ib_umad" {
		t.Errorf("%q", got)
	}
}

func TestNotFound(t *testing.T) {
	if !NotFound("modprobe: FATAL: Module ib_ipoib not found in directory /lib/modules/6.8.0-90-generic\n") {
		t.Error("a missing module is not recognised")
	}
	if NotFound("modprobe: ERROR: could not insert 'ib_ipoib': Operation not permitted\n") {
		t.Error("a refused module counts as missing")
	}
}
