package fabric

import (
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// A link that runs slower than its ends says why, and whether somebody should look.
func TestLink_Slow(t *testing.T) {
	all := []ib.Speed{ib.SDR, ib.DDR, ib.QDR, ib.FDR10, ib.FDR}
	link := func(speed ib.Speed, a, b []ib.Speed) *Link {
		port := func(name string, can []ib.Speed) *Port {
			return &Port{Node: &Node{Name: name}, Number: 1, State: "Active", Width: 4, Speed: speed,
				WidthSupported: []int{1, 4}, SpeedsSupported: can, SpeedsEnabled: can}
		}
		return &Link{A: port("a", a), B: port("b", b)}
	}
	off := link(ib.QDR, all, all)
	off.B.SpeedsEnabled = all[:3]
	for _, c := range []struct {
		name     string
		link     *Link
		degraded bool
		says     string
	}{
		{"as it can", link(ib.FDR, all, all), false, ""},
		{"FDR10 over a cable for it", link(ib.FDR10, all, all),
			true, "FDR10 instead of FDR: 40 Gb/s instead of 54.5 Gb/s; both ends could, so the cable is not good enough for it"},
		{"a cable that the firmware refuses", link(ib.QDR, all, all), true, "names a cable that its firmware refuses: " +
			"\"Unsupported cable\""},
		{"extended speeds switched off", off, true, "b port 1 allows SDR, DDR, QDR only (LinkSpeedExtEnabled is 0): its " +
			"firmware, force_link_speed_ext of the subnet manager or somebody's ibportstate has switched the extended speeds " +
			"off"},
		{"FDR10 at one end", link(ib.FDR10, all, all[:4]), false, "a port 1 can do FDR, b port 1 no more than FDR10"},
	} {
		if got := strings.Join(c.link.Slow(), "; "); !strings.Contains(got, c.says) || c.link.Degraded() != c.degraded ||
			c.says == "" && got != "" {
			t.Errorf("%s: %t %q", c.name, c.link.Degraded(), got)
		}
	}
}
