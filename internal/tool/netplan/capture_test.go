package netplan

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata"), "netplan") {
		t.Run(c.Name, func(t *testing.T) {
			devices, err := Parse(c.Text)
			if err != nil {
				t.Fatal(err)
			}
			want := c.Expected["interfaces"].(map[string]any)
			if len(devices) != len(want) {
				t.Fatalf("got %d interfaces, want %d", len(devices), len(want))
			}
			for _, d := range devices {
				expected, ok := want[d.ID].(map[string]any)
				if !ok {
					t.Fatalf("interface %q is not expected", d.ID)
				}
				addresses := []string{}
				for _, a := range d.Addresses {
					addresses = append(addresses, a.String())
				}
				var mode any
				if d.Mode != "" {
					mode = d.Mode
				}
				got := map[string]any{"addresses": addresses, "infiniband_mode": mode, "mtu": d.MTU}
				for key, value := range expected {
					if key == "dhcp4" {
						continue // not read: the file's being there decides
					}
					if diff := cmp.Diff(value, capture.Plain(t, got[key])); diff != "" {
						t.Errorf("%s of %s (-want +got):\n%s", key, d.ID, diff)
					}
				}
			}
		})
	}
}
