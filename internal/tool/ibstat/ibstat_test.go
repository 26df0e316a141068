package ibstat

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/capture"
)

// refused are captures that their publishers made unreadable.
var refused = map[string]string{
	"cx2-comments-in-lines": "want one of Down, Initializing, Armed, Active",
	"cx3-guids-masked-hash": "invalid GUID",
	"mthca-openmpi-2008":    "no link layer",
	"no-device-ibpanic":     "not the first line of an adapter",
}

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.Load(t, os.DirFS("testdata"), "ibstat") {
		t.Run(c.Name, func(t *testing.T) {
			cas, err := Parse(c.Text)
			if want, ok := refused[c.Name]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got error %v, want one with %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []any{}
			for _, ca := range cas {
				got = append(got, caFields(t, ca))
			}
			if diff := cmp.Diff(c.Expected["cas"], capture.Plain(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func caFields(t *testing.T, ca CA) map[string]any {
	t.Helper()
	ports := []any{}
	for _, p := range ca.Ports {
		number, _, _ := strings.Cut(p.Rate, " ")
		gbps, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, map[string]any{
			"number": p.Number, "state": p.State, "physical_state": p.Physical, "rate": p.Rate, "rate_gbps": gbps, "base_lid": p.LID, "lmc": p.LMC,
			"sm_lid": p.SMLID, "capability_mask": fmt.Sprintf("0x%08x", p.CapabilityMask), "port_guid": p.GUID.String(), "link_layer": p.LinkLayer,
		})
	}
	return map[string]any{
		"name": ca.Name, "type": ca.Type, "number_of_ports": ca.PortCount, "firmware_version": ca.Firmware, "hardware_version": ca.Hardware,
		"node_guid": ca.NodeGUID.String(), "system_image_guid": ca.SystemImage.String(), "ports": ports,
	}
}
