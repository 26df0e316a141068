package fabric

import (
	"slices"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

// twoCards are a card of a configured host and another one, each with a cable to a switch.
func twoCards() (f *Fabric, card, other, leaf *Port) {
	node := func(guid ib.GUID, name, host string) *Node { return &Node{GUID: guid, Name: name, Host: host} }
	s := node(0x10, "SwitchX", "")
	s.Switch = true
	port := func(n *Node, number int) *Port {
		p := &Port{Node: n, Number: number, State: "Active", Width: 4, Speed: 1, Counters: map[string]uint64{}}
		n.Ports = append(n.Ports, p)
		return p
	}
	card, other, leaf = port(node(1, "pve1 mlx4_0", "pve1"), 1), port(node(2, "stranger", ""), 2), port(s, 1)
	f = &Fabric{Nodes: []*Node{s, card.Node, other.Node}, Links: []*Link{{A: card, B: leaf}, {A: other, B: port(s, 2)}}}
	return f, card, other, leaf
}

func TestFabric_Cables(t *testing.T) {
	f, card, other, leaf := twoCards()
	ends := func() (all []string) {
		for _, c := range f.Cables() {
			all = append(all, c.A, c.B)
		}
		return all
	}
	if got, want := ends(), []string{"pve1/1", leaf.ID(), "stranger/2", "0x0000000000000010/2"}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	// Names that several nodes have, or that no configuration can write, are no names.
	leaf.Node.Given, card.Node.Host, card.Node.Name, other.Node.Name = "leaf-a", "", "same", "same"
	if got, want := ends(), []string{card.ID(), "leaf-a/1", other.ID(), "leaf-a/2"}; !slices.Equal(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
}

func TestFabric_CompareSince(t *testing.T) {
	start := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	limits := Limits{"SymbolErrorCounter": 10, "LinkDownedCounter": 10}
	for name, c := range map[string]struct {
		before, now map[string]uint64
		boot        string
		passed      time.Duration
		want        string
	}{
		"old sums":          {map[string]uint64{"SymbolErrorCounter": 900}, map[string]uint64{"SymbolErrorCounter": 900}, "b", time.Hour, ""},
		"a low rate":        {nil, map[string]uint64{"SymbolErrorCounter": 100}, "b", 10 * time.Hour, ""},
		"a high rate":       {nil, map[string]uint64{"SymbolErrorCounter": 101}, "b", 10 * time.Hour, "The cable pve1 mlx4_0 port 1 - SwitchX port 1: pve1 mlx4_0 port 1 has counted 101 more SymbolErrorCounter in 10 h."},
		"few at once":       {nil, map[string]uint64{"SymbolErrorCounter": 10}, "b", time.Minute, ""},
		"cleared":           {map[string]uint64{"SymbolErrorCounter": 900}, map[string]uint64{"SymbolErrorCounter": 50}, "b", time.Hour, "The cable pve1 mlx4_0 port 1 - SwitchX port 1: pve1 mlx4_0 port 1 has counted 50 more SymbolErrorCounter in 60 min."},
		"one flap":          {map[string]uint64{"LinkDownedCounter": 3}, map[string]uint64{"LinkDownedCounter": 4}, "b", 72 * time.Hour, "The link pve1 mlx4_0 port 1 - SwitchX port 1 went down once in 3 days."},
		"a restart":         {nil, map[string]uint64{"LinkDownedCounter": 1}, "c", time.Hour, ""},
		"a silent host":     {nil, map[string]uint64{"LinkDownedCounter": 1}, "", time.Hour, ""},
		"at the maximum":    {map[string]uint64{"LinkDownedCounter": 255}, map[string]uint64{"LinkDownedCounter": 255}, "b", time.Hour, "The cable pve1 mlx4_0 port 1 - SwitchX port 1: LinkDownedCounter of pve1 mlx4_0 port 1 stands at its maximum, 255, so that nobody sees whether it grows. Clear it with infiniband_clear_counters or perfquery -R."},
		"a clock that runs": {nil, map[string]uint64{"SymbolErrorCounter": 11}, "b", -time.Hour, "The cable pve1 mlx4_0 port 1 - SwitchX port 1: pve1 mlx4_0 port 1 has counted 11 more SymbolErrorCounter in less than a minute."},
	} {
		f, card, _, _ := twoCards()
		card.Counters = c.before
		was := f.Reading(start, map[string]string{"pve1": "b"})
		card.Counters = c.now
		got := ""
		for _, d := range f.CompareSince(was, Reading{At: start.Add(c.passed), Boots: map[string]string{"pve1": c.boot}}, limits) {
			got += d.Message
		}
		if got != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
	f, card, other, _ := twoCards()
	was := f.Reading(start, nil)
	delete(was.Counters, card.ID())
	card.Counters, other.Counters = map[string]uint64{"SymbolErrorCounter": 900}, map[string]uint64{"LinkDownedCounter": 1}
	if got := f.CompareSince(was, Reading{At: start}, limits); len(got) != 1 || got[0].Kind != Flapping || got[0].Where != f.Links[1].Name() {
		t.Errorf("a port that was not read, and a link of a stranger: %v", got)
	}
}
