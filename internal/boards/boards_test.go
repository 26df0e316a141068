package boards

import (
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// A line that is wrong would be believed: it has a known chip, a source, and no second one
// contradicts it.
func TestTable(t *testing.T) {
	chips := map[string]ib.Chip{}
	for _, c := range ib.Chips() {
		chips[c.Name] = c
	}
	of := map[ib.PSID]Board{}
	for _, b := range All() {
		_, err := ib.ParsePSID(string(b.PSID))
		switch {
		case b.Part == "" && b.PSID == "", b.PSID != "" && err != nil:
			t.Errorf("%+v has no name", b)
		case chips[b.Chip].Name == "":
			t.Errorf("%s is no chip of the table of chips", b.Chip)
		case b.Source == "" || b.Maker == "":
			t.Errorf("%+v: nobody says so", b)
		case b.Ports < 0 || b.Ports > 2, !slices.Contains([]string{"", "ib", "eth", "ib eth"}, b.Types):
			t.Errorf("%+v has odd ports", b)
		}
		if !chips[b.Chip].IB && b.Types != "" && b.Types != "eth" {
			t.Errorf("%+v: the chip has no InfiniBand", b)
		}
		if other, twice := of[b.PSID]; twice && b.PSID != "" && (other.Chip != b.Chip || other.Ports != b.Ports) {
			t.Errorf("%+v and %+v", other, b)
		}
		of[b.PSID] = b
	}
	if len(All()) < 60 {
		t.Errorf("only %d boards", len(All()))
	}
}

func TestOf(t *testing.T) {
	for part, want := range map[string]string{"MCX354A-FCBT": "ConnectX-3", "MCX354A-FCB_A2-A5": "ConnectX-3",
		"mcx354a-fcct": "ConnectX-3 Pro", "817753-B21": "ConnectX-4 Lx", "MCX455A-ECA_Ax": "ConnectX-4", "": "",
		"MCX354A":   "",
		"synthetic": "", "MCX999A-FCBT": ""} {
		if b, _ := OfPart(part); b.Chip != want {
			t.Errorf("%q is %+v", part, b)
		}
	}
	for psid, want := range map[ib.PSID]string{"MT_1090120019": "Mellanox MCX354A-FCBT", "HP_2190110032": "HPE ConnectX-4",
		"MT_9090120019": "", "": ""} {
		if b, known := OfPSID(psid); b.Name() != want || known != (want != "") {
			t.Errorf("%q is %q", psid, b.Name())
		}
	}
}

func TestDescribe(t *testing.T) {
	for psid, want := range map[ib.PSID]string{"MT_1090120019": "MT_1090120019 (Mellanox MCX354A-FCBT)",
		"DEL9000000001": "DEL9000000001 (Dell)", "XX_9000000001": "XX_9000000001"} {
		if got := Describe(psid); got != want {
			t.Errorf("%q is %q", psid, got)
		}
	}
}
