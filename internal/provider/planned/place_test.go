package planned

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// In whatever order a walk learns of it, the card that is in a slot is not taken for the one
// that the state has there.
func TestPlanned_exchanged_card(t *testing.T) {
	const slot = "intel9/0000:01:00"
	old, bought := ib.Identity{Serial: "MT1"}, ib.Identity{Serial: "MT2"}
	for name, c := range map[string]struct {
		adopted     *ib.Identity // by an infiniband_card
		named       ib.Identity  // by the id
		isForbidden bool
	}{
		"by its place":                        {isForbidden: true},
		"named as the old one":                {named: old, isForbidden: true},
		"named by hand":                       {named: bought},
		"adopted, whatever it is":             {adopted: &ib.Identity{}, named: bought, isForbidden: true},
		"adopted by its serial number":        {adopted: &bought, named: bought},
		"adopted as the old one":              {adopted: &old, named: bought, isForbidden: true},
		"adopted by number, used by its slot": {adopted: &bought, isForbidden: true},
	} {
		take := func(p *Walk) bool {
			if c.adopted != nil {
				p.Adopt(slot, *c.adopted)
			}
			_, forbidden := p.Take(slot, c.named)
			return forbidden
		}
		p := NewWalk()
		if take(p) {
			t.Errorf("%s: forbidden without a record", name)
		}
		if late := p.SetExchanged(slot, old); late != c.isForbidden {
			t.Errorf("%s: late is %t", name, late)
		}
		p = NewWalk()
		if late := p.SetExchanged(slot, old); late || take(p) != c.isForbidden || take(p) != c.isForbidden {
			t.Errorf("%s: late is %t, forbidden %t", name, late, take(p))
		}
		if _, forbidden := p.Take("intel9/0000:02:00", ib.Identity{}); forbidden {
			t.Error("a card in another slot is forbidden")
		}
	}
}
