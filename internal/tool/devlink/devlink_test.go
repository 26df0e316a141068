package devlink

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/realtool/capture"
)

func TestParseInfo(t *testing.T) {
	t.Parallel()
	want := Info{PSID: "MT_9180110032", Running: ib.FWVersion{Major: 12, Minor: 28, Sub: 2006},
		Stored: ib.FWVersion{Major: 12, Minor: 28, Sub: 4512}}
	for _, c := range capture.WithVariations(capture.Load(t, os.DirFS("testdata")), capture.Layout...) {
		if i, err := ParseInfo(c.Text); err != nil || i != want {
			t.Errorf("%s %s: %+v, %v", c.Name, c.Variation, i, err)
		}
	}
}

func TestParseInfo_what_is_no_answer(t *testing.T) {
	t.Parallel()
	const whole = "pci/0000:01:00.0:\n  driver mlx5_core\n  versions:\n      fixed:\n        fw.psid MT_9180110032\n" +
		"      running:\n        fw.version 12.28.2006\n      stored:\n        fw.version 12.28.4512\n"
	for output, says := range map[string]string{
		"":                                    "want fw.psid",
		"kernel answers: No data available\n": "want fw.psid",
		strings.Replace(whole, "12.28.4512", "255.255.65535", 1): "did not tell",
		strings.Replace(whole, "12.28.2006", "255.255.65535", 1): "did not tell",
		strings.Replace(whole, "MT_9180110032", "MT \x01", 1):    "not printable",
		strings.Replace(whole, "12.28.2006", "12.x", 1):          "12.x",
		strings.Replace(whole, "stored:", "stored.other:", 1):    "want fw.psid",
		strings.Replace(whole, "  fw.version 12.28.4512", "", 1): "want fw.psid",
	} {
		if i, err := ParseInfo(output); err == nil || !strings.Contains(err.Error(), says) || i != (Info{}) {
			t.Errorf("%q: %+v, %v", output, i, err)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add("      fixed:\n        fw.psid MT_9180110032\n")
	f.Fuzz(func(t *testing.T, output string) {
		if i, err := ParseInfo(output); err != nil && i != (Info{}) {
			t.Errorf("%+v of an answer that was not understood", i)
		}
	})
}

// The layout is that which the kernel's mlxfw reads (drivers/net/ethernet/mellanox/mlxfw); the simulated devlink reads
// packages by a reader of its own.
func TestPackage(t *testing.T) {
	t.Parallel()
	component := bytes.Repeat([]byte("firmware "), 5000)
	p, err := Package("MT_9180110032", component)
	if err != nil {
		t.Fatal(err)
	}
	const want = "4d4c4e582e4d4641322e585a2e303021" + // the fingerprint
		"00010004" + "00000020" + "0002001c" + "00010001" + "0000007c" + "%08x" + "%016x" + "00000001" + "00000000" +
		"00010004" + "00010020" + "002a000d" + "4d545f39313830313130303332" + "000000" + "00220008" + "0000000000000000" +
		"00010004" + "00000014" + "00040010" + "00000001" + "0000000000000000" + "%08x"
	block := p[0x7c:]
	head := fmt.Sprintf(want, len(block), 16+len(component), len(component))
	if got := hex.EncodeToString(p[:0x7c]); got != head {
		t.Errorf("head\n%s, want\n%s", got, head)
	}
	r, err := xz.NewReader(bytes.NewReader(block))
	if err != nil || block[7] != 1 { // CRC32
		t.Fatalf("%v, check %d", err, block[7])
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != "#BIN.COMPONENT!#"+string(component) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
