package tfkit

import (
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

func TestRestores_whoHoldsACard(t *testing.T) {
	t.Parallel()
	first, second := ib.MustParsePCIAddress("0000:01:00.0"), ib.MustParsePCIAddress("0000:02:00.0")
	restored := CardRef{Host: "a", PCI: first}
	for _, c := range []struct {
		name   string
		holder CardRef
		boot   string
		exists bool
		want   Holder
	}{
		{"new block of the card", CardRef{Host: "a", PCI: first}, "boot", false, HeldByNew},
		{"block of the state", CardRef{Host: "a", PCI: first}, "", true, HeldByOther},
		{"the same machine under another name", CardRef{Host: "alias", PCI: first}, "boot", false, HeldByNew},
		{"another card", CardRef{Host: "a", PCI: second}, "boot", false, HeldByNobody},
		{"another machine", CardRef{Host: "b", PCI: first}, "other", false, HeldByNobody},
		{"two machines that do not answer", CardRef{Host: "b", PCI: first}, "", false, HeldByNobody},
	} {
		boot := "boot"
		if c.name == "two machines that do not answer" {
			boot = ""
		}
		r := NewRestores()
		if r.Hold(c.holder, c.boot, c.exists) {
			t.Errorf("%s: restored before anything was announced", c.name)
		}
		if got := r.Announce(restored, boot); got != c.want {
			t.Errorf("%s, then the destroy: %d, want %d", c.name, got, c.want)
		}
		// Core plans in no order that can be relied on.
		r = NewRestores()
		r.Announce(restored, boot)
		if got := r.Hold(c.holder, c.boot, c.exists); got != (c.want != HeldByNobody) {
			t.Errorf("the destroy, then %s: restored %t", c.name, got)
		}
	}
	if NewRestores().Walk() == NewRestores().Walk() {
		t.Error("two walks have one name")
	}
}
