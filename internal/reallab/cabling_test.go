//go:build linux

package reallab

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/wire"
)

// newWired makes a lab without machines.
func newWired(t *testing.T, hosts []Host, o Options) (*Lab, error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab") // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Dir: dir, Machines: map[string]*machine.Machine{}, Cards: map[string][]Plugged{},
		Switches: map[string]*fabric.Switch{}, world: &wire.World{}}
	ctx, cancel := context.WithCancel(t.Context())
	l.cancel = cancel
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return l, l.wire(ctx, hosts, o)
}

func twoCards(name string, i int) Host {
	h := NewHost(name, i)
	h.Slots = append(h.Slots, NewHost(name, i+1).Slots...)
	return h
}

// TestOptions_cables: each cable is between the two ports that it names.
func TestOptions_cables(t *testing.T) {
	hosts := []Host{twoCards("one", 0), NewHost("other", 2), NewConnectX4Host("newer", 0, 2)}
	for name, tt := range map[string]struct {
		Options
		want []Cable
	}{
		"one switch": {Options{}, []Cable{{{Node: "one"}, {Node: "switch"}}, {{Node: "one", Slot: 1}, {Node: "switch", Port: 2}},
			{{Node: "other"}, {Node: "switch", Port: 3}}, {{Node: "newer"}, {Node: "switch", Port: 4}},
			{{Node: "newer", Port: 2}, {Node: "switch", Port: 5}}}},
		"back to back": {Options{Cables: []Cable{{{Node: "one", Port: 2}, {Node: "other"}}}},
			[]Cable{{{Node: "one", Port: 2}, {Node: "other", Port: 1}}}},
		"two switches": {Options{Switches: []Switch{{Name: "a", Ports: 3}, {Name: "b"}}, Cables: []Cable{
			{{Node: "one", Slot: 1}, {Node: "a"}}, {{Node: "a", Port: 3}, {Node: "b", Port: 12}}, {{Node: "b"}, {Node: "other", Port: 2}}}},
			[]Cable{{{Node: "one", Slot: 1}, {Node: "a"}}, {{Node: "a", Port: 3}, {Node: "b", Port: 12}},
				{{Node: "other", Port: 2}, {Node: "b"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := newWired(t, hosts, tt.Options)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range tt.want {
				a, _ := l.portOf(c[0])
				b, _ := l.portOf(c[1])
				if l.Cable(c[0]) == nil || l.Cable(c[0]).Other(a) != b {
					t.Errorf("%s is not connected to %s", c[0], c[1])
				}
			}
			if got := l.Cards["one"][0].Cable; got != l.Cable(End{Node: "one"}) {
				t.Errorf("the first card's cable is %p", got)
			}
		})
	}
}

// TestOptions_mistakes: a description that cannot be built is refused by name.
func TestOptions_mistakes(t *testing.T) {
	hosts := []Host{NewHost("one", 0), NewHost("other", 1)}
	to := func(a, b End) Options { return Options{Switches: []Switch{{Name: "a"}}, Cables: []Cable{{a, b}}} }
	for want, o := range map[string]Options{
		"there is no nobody port 1":        to(End{Node: "nobody"}, End{Node: "a"}),
		"there is no a port 13":            to(End{Node: "a", Port: 13}, End{Node: "one"}),
		"there is no one card 1 port 1":    to(End{Node: "one", Slot: 1}, End{Node: "a"}),
		"there is no one port 3":           to(End{Node: "one", Port: 3}, End{Node: "a"}),
		"both ends in one port 1":          to(End{Node: "one"}, End{Node: "one", Port: 1}),
		"two switches \"a\"":               {Switches: []Switch{{Name: "a"}, {Name: "a"}}, Cables: []Cable{{{Node: "a"}, {Node: "one"}}}},
		"\"a\" has 63 ports":               {Switches: []Switch{{Name: "a", Ports: 63}}},
		"the name \"one\" is taken":        {Switches: []Switch{{Name: "one"}}},
		"other port 1 has a cable already": {Cables: []Cable{{{Node: "one"}, {Node: "other"}}, {{Node: "other"}, {Node: "one", Port: 2}}}},
		"several switches need cables":     {Switches: []Switch{{Name: "a"}, {Name: "b"}}},
	} {
		if _, err := newWired(t, hosts, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
