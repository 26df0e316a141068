package safety

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// TestLab_finds_what_a_comparison_with_all_finds keeps the index honest: it may
// leave cards out, never a finding.
func TestLab_finds_what_a_comparison_with_all_finds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	value := func() uint64 { // few values, so that many clash; some that are none
		switch n := rng.Uint64N(60); n {
		case 0:
			return 0
		case 1:
			return ^uint64(0)
		default:
			return 0xe41d2d0300e44000 + n
		}
	}
	identity := func() ib.GUIDSet {
		return ib.GUIDSet{
			Node: ib.GUID(value()), Port1: ib.GUID(value()), Port2: ib.GUID(value()), SystemImage: ib.GUID(value()),
			MAC1: ib.MAC(value() & 0xffffffffffff), MAC2: ib.MAC(value() & 0xffffffffffff),
		}
	}
	compared := 0
	for range 300 {
		lab, all, planned := NewLab(), map[string]CardIdentity{}, map[string]CardIdentity{}
		runs := map[string]CardIdentity{}
		for i := range 8 {
			host := fmt.Sprintf("h%d", i)
			c := CardIdentity{Host: host, PCI: here, GUIDs: identity()}
			lab.Found(host, []CardIdentity{{PCI: here, GUIDs: identity()}}) // stale
			found := []CardIdentity{c}
			if rng.IntN(3) == 0 {
				runs[host] = CardIdentity{Host: host, PCI: here, GUIDs: identity(), Running: true}
				found = append(found, runs[host])
			}
			lab.Found(host, found)
			all[host] = c
			if rng.IntN(3) == 0 {
				p := CardIdentity{Host: host, PCI: here, GUIDs: identity(), Planned: true}
				restarts := rng.IntN(2) == 0
				before := identity()
				lab.Plan(host, here, &before, !restarts) // planned otherwise before
				lab.Plan(host, here, &p.GUIDs, restarts)
				planned[host] = p
				switch {
				case rng.IntN(3) == 0:
					lab.Plan(host, here, nil, false)
					delete(planned, host)
				case restarts:
					delete(runs, host)
				}
			}
		}
		var listed LabFacts
		for i := range 8 {
			host := fmt.Sprintf("h%d", i)
			c, ok := planned[host]
			if !ok {
				c = all[host]
			}
			listed.Cards = append(listed.Cards, c)
			if r, ok := runs[host]; ok {
				listed.Cards = append(listed.Cards, r)
			}
		}
		req := GUIDRequest{HasGUIDs: true, HasMACs: true, Want: identity(), BaseGUID: ib.GUID(value())}
		want, got := GUIDValues("h0", here, req, listed), GUIDValues("h0", here, req, LabFacts{Lab: lab})
		compared += len(want)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("with all:  %+v\nwith index: %+v", want, got)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d findings were compared", compared)
	}
}

// TestLab_looks_at_few counts what a check looks at: with cards that do not
// clash it does not grow with their number.
func TestLab_looks_at_few(t *testing.T) {
	for _, hosts := range []int{10, 1000} {
		lab := NewLab()
		for i := range hosts {
			lab.Found(fmt.Sprint(i), []CardIdentity{{PCI: here,
				GUIDs: guidSet(ib.GUID(0xe41d2d0300000000+16*uint64(i)), ib.MAC(0xe41d2d000000+16*uint64(i)))}})
		}
		want := guidSet(0xe41d2d0300000000, 0xe41d2d000000)
		if near := (LabFacts{Lab: lab}).near(want); len(near) != 1 || near[0].Host != "0" {
			t.Errorf("%d hosts: looked at %d cards", hosts, len(near))
		}
	}
}

// A card whose flash was not read is named to all others, until it is read.
func TestLab_names_cards_that_were_not_read(t *testing.T) {
	lab := NewLab()
	facts := LabFacts{Lab: lab, SameMachine: func(a, b string) fact.Bool { return fact.Known(a == "b" && b == "also b") }}
	unread := []CardIdentity{{PCI: here, Unread: notRead}, {PCI: there}}
	for _, host := range []string{"also b", "b", "a"} {
		lab.Found(host, unread)
	}
	names := func(host string, pci ib.PCIAddress) (all []string) {
		for _, c := range facts.Unread(host, pci) {
			all = append(all, c.ID()+": "+c.Unread)
		}
		return all
	}
	says := func(host string) string { return fmt.Sprintf("%s/%s: %s", host, here, notRead) }
	if got, want := names("b", here), []string{says("a")}; !slices.Equal(got, want) {
		t.Errorf("to itself under two names: %q", got)
	}
	if got, want := names("b", there), []string{says("a"), says("also b"), says("b")}; !slices.Equal(got, want) {
		t.Errorf("to another card of its host: %q", got)
	}
	lab.Found("a", []CardIdentity{{PCI: here}})
	if got := names("b", here); len(got) > 0 {
		t.Errorf("read since: %q", got)
	}
}
