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

// One yes is enough, and what is not known keeps all others from being a no.
func TestAny(t *testing.T) {
	yes, no, hung := fact.Known(true), fact.Known(false), fact.Unknown[bool]("it hung")
	for _, c := range []struct {
		of   []fact.Bool
		want fact.Bool
	}{
		{nil, no}, {[]fact.Bool{no, no}, no}, {[]fact.Bool{no, hung, no}, hung}, {[]fact.Bool{hung, yes, no}, yes},
	} {
		if got := fact.Any(c.of...); got != c.want {
			t.Errorf("%v: %v, %q", c.of, got.Or(false), got.Why())
		}
	}
}
