package vendstat

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// The form is that of infiniband-diags/vendstat.c; the values are those of an InfiniScale IV.
const infiniScale = `hw_dev_rev:  0x00a1
hw_dev_id:   0xbd36
hw_uptime:   0x0009fbf1
fw_version:  07.04.0000
fw_build_id: 0x0000
fw_date:     11/08/2012
fw_psid:     'MT_9D90110009'
fw_ini_ver:  3
sw_version:  00.00.00
`

func TestParse(t *testing.T) {
	t.Parallel()
	want := Info{FW: ib.FWVersion{Major: 7, Minor: 4}, PSID: "MT_9D90110009"}
	if i, ok, err := Parse(infiniScale); err != nil || !ok || i != want {
		t.Errorf("%+v %t %v", i, ok, err)
	}
	silent := "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 6)\nvendstat: iberror: failed: classportinfo query\n"
	for _, output := range []string{"", silent, "sh: vendstat: not found\n"} {
		if i, ok, err := Parse(output); err != nil || ok || i != (Info{}) {
			t.Errorf("%q: %+v %t %v", output, i, ok, err)
		}
	}
	if i, ok, err := Parse(strings.Replace(infiniScale, "MT_9D90110009", "\x01", 1)); err != nil || !ok || i.PSID != "" {
		t.Errorf("a PSID that is none: %+v %t %v", i, ok, err)
	}
	if _, _, err := Parse("fw_version:  7.x\n"); err == nil || !strings.Contains(err.Error(), "7.x") {
		t.Errorf("a version that is none: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(infiniScale)
	f.Fuzz(func(t *testing.T, output string) {
		if i, ok, err := Parse(output); err != nil && (ok || i != (Info{})) {
			t.Errorf("%+v of an answer that was not understood", i)
		}
	})
}
