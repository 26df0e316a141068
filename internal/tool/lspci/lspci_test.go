package lspci

import (
	"os"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

// refused are captures that are no answer for one function: three of them, and a line picked by grep.
var refused = map[string]bool{"cx5-vf": true, "cx3-lnksta": true}

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.WithVariations(capture.Load(t, os.DirFS("testdata"), "lspci"), capture.Layout...) {
		t.Run(c.Name+" "+c.Variation, func(t *testing.T) {
			v, err := Parse(c.Text)
			want := VPD{NUMANode: map[string]string{"bf2-vv-vpd": "1"}[c.Name]}
			if refused[c.Name] != (err != nil) || v != want {
				t.Errorf("%v, %+v", err, v)
			}
		})
	}
}

const withVPD = `01:00.0 Network controller: Mellanox Technologies MT27500 Family [ConnectX-3]
	Subsystem: Mellanox Technologies MT27500 Family [ConnectX-3]
	Capabilities: [48] Vital Product Data
		Product Name: CX354A - ConnectX-3 QSFP
		Read-only fields:
			[PN] Part number: MCX354A-FCBT
			[EC] Engineering changes: A4
			[SN] Serial number: MT1324X00001
			[V0] Vendor specific: PCIe Gen3 x8
			[RV] Reserved: checksum good, 0 byte(s) reserved
		End
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		LnkCap:	Port #8, Speed 8GT/s, Width x8, ASPM L0s
		LnkSta:	Speed 5GT/s (downgraded), Width x4 (downgraded)
	Kernel driver in use: mlx4_core
`

func TestParse(t *testing.T) {
	want := VPD{PartNumber: "MCX354A-FCBT", SerialNumber: "MT1324X00001"}
	// Standard error is collected with the rest and may come first.
	remarks := "lspci: Unable to load libkmod resources: error -2\npcilib: sysfs_read_vpd: read failed: No such device\n"
	for _, output := range []string{withVPD, "0000:" + withVPD, remarks + withVPD} {
		if v, err := Parse(output); err != nil || v != want {
			t.Errorf("%v, %+v", err, v)
		}
	}
	for output, says := range map[string]string{
		"": "want one PCI function, got 0",
		withVPD + strings.ReplaceAll(withVPD, "01:00.0", "01:00.1"): "want one PCI function, got 2",
		"\tLnkSta: Speed 8GT/s\n":                                   "not the first line",
	} {
		if _, err := Parse(output); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v", output, err)
		}
	}
}
