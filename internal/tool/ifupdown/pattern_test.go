package ifupdown

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

// A pattern that is not understood, or that is for what was not read, is never "no".
func TestByOtherName(t *testing.T) {
	t.Parallel()
	const address = "80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:e4:4e:d1"
	for word, want := range map[string]struct{ with, without fact.Of[string] }{
		"ib0=s":         {fact.Known("auto ib0=s"), fact.Known("auto ib0=s")},
		"/ib*=s":        {fact.Known("auto /ib*=s"), fact.Known("auto /ib*=s")},
		"/ib*":          {fact.Known(""), fact.Known("")},
		"/en*=s":        {fact.Known(""), fact.Known("")},
		"/dev/ib0=s":    {fact.Known(""), fact.Known("")},
		"/en*/1=s":      {fact.Known(""), fact.Known("")},
		"mac/80:00:*=s": {fact.Known("auto mac/80:00:*=s"), fact.Unknown[string]("the hardware address is not known")},
		"mac/" + address + "=s": {fact.Known("auto mac/" + address + "=s"),
			fact.Unknown[string]("the hardware address is not known")},
		"mac/11:22:33:44:55:66=s": {fact.Known(""), fact.Known("")},
		"/ib[=s":                  {fact.Unknown[string]("not understood"), fact.Unknown[string]("not understood")},
		"driver/x=s":              {fact.Unknown[string]("not read"), fact.Unknown[string]("not read")},
	} {
		f, err := Parse("auto lo " + word + "\n")
		if err != nil {
			t.Fatal(err)
		}
		for with, want := range map[string]fact.Of[string]{address: want.with, "": want.without} {
			got := f.ByOtherName("ib0", with)
			if got.Known() != want.Known() || got.Or("") != want.Or("") {
				t.Errorf("%s with address %q: %+v, want %+v", word, with, got, want)
			}
		}
	}
}
