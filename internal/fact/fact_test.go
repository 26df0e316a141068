package fact_test

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
)

func TestOf_three_answers(t *testing.T) {
	for name, c := range map[string]struct {
		f        fact.Bool
		yes, no  bool
		why      string
		fallback bool // Or(true)
	}{
		"yes":     {fact.Known(true), true, false, "", true},
		"no":      {fact.Known(false), false, true, "", false},
		"unknown": {fact.Unknown[bool]("the tool hung"), false, false, "the tool hung", true},
		"zero":    {fact.Bool{}, false, false, "it was not read", true},
	} {
		if fact.Yes(c.f) != c.yes || fact.No(c.f) != c.no {
			t.Errorf("%s: Yes %v, No %v", name, fact.Yes(c.f), fact.No(c.f))
		}
		if c.f.Why() != c.why || c.f.Known() != (c.why == "") || c.f.Or(true) != c.fallback {
			t.Errorf("%s: Why %q, Known %v, Or %v", name, c.f.Why(), c.f.Known(), c.f.Or(true))
		}
		if v, ok := c.f.Get(); ok != c.f.Known() || v != c.yes {
			t.Errorf("%s: Get %v, %v", name, v, ok)
		}
	}
}
