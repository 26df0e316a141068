package lspci

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

// refused is one line picked by grep: nothing says which function it is of.
const refused = "cx3-lnksta"

func TestParse_reads_captures(t *testing.T) {
	for _, c := range capture.WithVariations(capture.Load(t, os.DirFS("testdata"), "lspci"), capture.Layout...) {
		t.Run(c.Name+" "+c.Variation, func(t *testing.T) {
			devices, err := Parse(c.Text)
			if c.Name == refused {
				capture.NamesALine(t, c.Name, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []any{}
			for _, d := range devices {
				fields := map[string]any{}
				for key, value := range map[string]string{
					"slot": d.Slot, "class": d.Class, "class_id": d.ClassID, "name": d.Name, "vendor_id": d.VendorID,
					"device_id": d.DeviceID,
					"rev":       d.Rev, "subsystem": d.Subsystem, "physical_slot": d.PhysicalSlot, "numa_node": d.NUMANode,
					"driver": d.Driver, "modules": d.Modules,
				} {
					if value != "" {
						fields[key] = value
					}
				}
				got = append(got, fields)
			}
			if diff := cmp.Diff(c.Expected["devices"], capture.Plain(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
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

func TestParseOne(t *testing.T) {
	d, err := ParseOne(withVPD)
	if err != nil {
		t.Fatal(err)
	}
	want := Device{
		Slot: "01:00.0", Class: "Network controller", Name: "Mellanox Technologies MT27500 Family [ConnectX-3]",
		Subsystem: "Mellanox Technologies MT27500 Family [ConnectX-3]", Driver: "mlx4_core",
		Link: Link{Speed: "5GT/s", Width: 4}, PartNumber: "MCX354A-FCBT", SerialNumber: "MT1324X00001",
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	// Standard error is collected with the rest and may come first.
	remarks := "lspci: Unable to load libkmod resources: error -2\npcilib: sysfs_read_vpd: read failed: No such device\n"
	if again, err := ParseOne(remarks + withVPD); err != nil || again != d {
		t.Errorf("behind remarks: %v, %+v", err, again)
	}
	if _, err := ParseOne(""); err == nil {
		t.Error("no function was read as one")
	}
	if _, err := ParseOne(withVPD + strings.ReplaceAll(withVPD, "01:00.0", "01:00.1")); err == nil {
		t.Error("two functions were read as one")
	}
}
