package safety

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

func TestHolds_comparesTheBuildUnlessTheContentIsKnown(t *testing.T) {
	t.Parallel()
	version := ib.MustParseFWVersion("2.42.5000")
	img := ImageFacts{Firmware: ib.Firmware{PSID: "MT_9090111019", FW: version}, Release: "2017-09-05",
		Product: "02.42.50.00", Checksum: "aa"}
	same := func() CardFacts {
		return CardFacts{Card: inventory.Card{Flash: &inventory.Flash{Firmware: ib.Firmware{PSID: "MT_9090111019",
			FW: version}, ReleaseDate: "2017-09-05", ProductVersion: "02.42.50.00"}}}
	}
	for _, c := range []struct {
		name   string
		change func(*CardFacts)
		want   bool
	}{
		{"the same build", func(*CardFacts) {}, true},
		{"another date", func(c *CardFacts) { c.Flash.ReleaseDate = "2018-01-02" }, false},
		{"another product version", func(c *CardFacts) { c.Flash.ProductVersion = "02.42.50.01" }, false},
		{"a date that is not stated", func(c *CardFacts) { c.Flash.ReleaseDate = "" }, true},
		{"another date and the same content", func(c *CardFacts) { c.Flash.ReleaseDate, c.Checksum = "2018-01-02", "aa" },
			true},
		{"the same build and other content", func(c *CardFacts) { c.Checksum = "bb" }, false},
		{"another version", func(c *CardFacts) { c.Flash.FW = ib.MustParseFWVersion("2.42.5001") }, false},
		{"flash that was not read", func(c *CardFacts) { c.Flash = nil }, false},
	} {
		card := same()
		c.change(&card)
		if got := Holds(card, img); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
