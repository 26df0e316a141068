package clash

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

var (
	here  = ib.MustParsePCIAddress("0000:01:00.0")
	there = ib.MustParsePCIAddress("0000:41:00.0")
)

func guidSet(base ib.GUID, mac ib.MAC) ib.GUIDSet {
	return ib.GUIDSet{Node: base, Port1: base + 1, Port2: base + 2, SystemImage: base + 3, MAC1: mac, MAC2: mac + 1}
}

// TestLab_looks_at_few counts what a check looks at: with cards that do not
// clash it does not grow with their number.
func TestLab_looks_at_few(t *testing.T) {
	for _, hosts := range []int{10, 1000} {
		lab := NewLab()
		for i := range hosts {
			lab.Found(fmt.Sprint(i), []Holder{{PCI: here,
				GUIDs: guidSet(ib.GUID(0xe41d2d0300000000+16*uint64(i)), ib.MAC(0xe41d2d000000+16*uint64(i)))}})
		}
		want := guidSet(0xe41d2d0300000000, 0xe41d2d000000)
		if near := (Facts{Lab: lab}).near(want); len(near) != 1 || near[0].Host != "0" {
			t.Errorf("%d hosts: looked at %d cards", hosts, len(near))
		}
	}
}

// A card whose flash was not read is named to all others, until it is read.
func TestLab_names_cards_that_were_not_read(t *testing.T) {
	lab := NewLab()
	facts := Facts{Lab: lab, SameMachine: func(a, b string) fact.Bool { return fact.Known(a == "b" && b == "also b") }}
	unread := []Holder{{PCI: here, Unread: "nobody could read this"}, {PCI: there}}
	for _, host := range []string{"also b", "b", "a"} {
		lab.Found(host, unread)
	}
	names := func(host string, pci ib.PCIAddress) (all []string) {
		for _, c := range facts.Unread(host, pci) {
			all = append(all, c.ID()+": "+c.Unread)
		}
		return all
	}
	says := func(host string) string { return fmt.Sprintf("%s/%s: %s", host, here, "nobody could read this") }
	if got, want := names("b", here), []string{says("a")}; !slices.Equal(got, want) {
		t.Errorf("to itself under two names: %q", got)
	}
	if got, want := names("b", there), []string{says("a"), says("also b"), says("b")}; !slices.Equal(got, want) {
		t.Errorf("to another card of its host: %q", got)
	}
	lab.Found("a", []Holder{{PCI: here}})
	if got := names("b", here); len(got) > 0 {
		t.Errorf("read since: %q", got)
	}
}
