package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// host is one host of a plan.
type host struct {
	Name string
	// Targets are the module instances that hold objects of this host and of no other one.
	Targets []string
	Pending []*change
}

// lab is a plan by hosts.
type lab struct {
	Hosts map[string]*host
	Rest  []*change // pending changes that are in no host's module
	rules
}

// holders are the hosts that have objects in a module instance, and the first such object of each.
type holders map[string]map[string]string

// byHost puts each change of a plan to its host. It is an error if a host is changed by what is not in a
// module of this host alone: the engine could not leave the other hosts alone.
func byHost(p *plan) (*lab, error) {
	l := &lab{Hosts: map[string]*host{}, rules: rules{managers: map[string]bool{}, partners: p.partners()}}
	var err error
	if l.domains, err = p.domains(); err != nil {
		return nil, err
	}
	holds := holders{}
	for i := range p.Changes {
		c := &p.Changes[i]
		name := c.host()
		if name == "" {
			continue
		}
		if l.Hosts[name] == nil {
			l.Hosts[name] = &host{Name: name}
		}
		l.managers[name] = l.managers[name] || c.Type == subnetManager
		for _, at := range instances(c.Module) {
			if holds[at] == nil {
				holds[at] = map[string]string{}
			}
			holds[at][name] = cmp.Or(holds[at][name], c.Address)
		}
	}
	for i := range p.Changes {
		if err := l.place(&p.Changes[i], holds); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// place puts a change to its host, or to the rest.
func (l *lab) place(c *change, holds holders) error {
	for _, at := range instances(c.Module) {
		if len(holds[at]) != 1 {
			continue
		}
		h := l.Hosts[slices.Collect(maps.Keys(holds[at]))[0]]
		if !slices.Contains(h.Targets, at) {
			h.Targets = append(h.Targets, at)
		}
		if c.pending() {
			h.Pending = append(h.Pending, c)
		}
		return nil
	}
	switch {
	case !c.pending():
	case c.writesCard() || c.changesHost():
		where := "the root module"
		if c.Module != "" {
			where = c.Module + holds.beside(c)
		}
		return fmt.Errorf("%s is in %s. A rollout plans one host at a time with -target, which needs a module instance "+
			"for each host: module \"host\" { for_each = … }. See the guide about rollouts", c.Address, where)
	default:
		l.Rest = append(l.Rest, c)
	}
	return nil
}

// beside says what keeps the module instance of a change from being that of one host.
func (all holders) beside(c *change) string {
	for _, host := range slices.Sorted(maps.Keys(all[c.Module])) {
		if host != c.host() {
			return ", which also has " + all[c.Module][host] + " of host " + host
		}
	}
	return ", of which no host is known"
}

// instances are the module instances of an address, the outermost first: module.rack["a"] and
// module.rack["a"].module.host["x"]. A key may hold anything.
func instances(address string) []string {
	if address == "" {
		return nil
	}
	var all []string
	quoted := false
	for i := 0; i < len(address); i++ {
		switch {
		case quoted && address[i] == '\\':
			i++
		case address[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(address[i:], ".module."):
			all = append(all, address[:i])
			i += len(".module.") - 1
		}
	}
	return append(all, address)
}

// partners are the hosts that are the ends of one cable or one measurement, as far as the plan tells.
func (p *plan) partners() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	add := func(a, b string) {
		for one, other := range map[string]string{a: b, b: a} {
			if all[one] == nil {
				all[one] = map[string]bool{}
			}
			all[one][other] = a != "" && b != "" && a != b
		}
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Type == benchmark {
			add(c.values().text("server"), c.values().text("client"))
		}
	}
	p.Prior.Values.Root.each(func(kind string, values object) {
		if kind != ours+"fabric" {
			return
		}
		nodes, _ := values["nodes"].(map[string]any)
		links, _ := values["links"].([]any)
		for _, one := range links {
			link, _ := one.(map[string]any)
			add(hostOf(nodes, link["a"]), hostOf(nodes, link["b"]))
		}
	})
	return all
}

// hostOf is the host of one end of a link; empty if it is a switch or another's.
func hostOf(nodes map[string]any, end any) string {
	at, _ := end.(map[string]any)
	node, _ := nodes[object(at).text("node_guid")].(map[string]any)
	return object(node).text("host")
}

func (m *module) each(do func(kind string, values object)) {
	for _, r := range m.Resources {
		do(r.Type, r.Values)
	}
	for i := range m.Children {
		m.Children[i].each(do)
	}
}

// todo are the hosts with something to do, sorted.
func (l *lab) todo() []string {
	var all []string
	for name, h := range l.Hosts {
		if len(h.Pending) > 0 {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// targets are the module instances of hosts.
func (l *lab) targets(hosts []string) []string {
	var all []string
	for _, name := range hosts {
		all = append(all, l.Hosts[name].Targets...)
	}
	return all
}
