package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// Policy rules, nexthop objects and permanent neighbours, as ip knows them.

type rule struct {
	family, preference int
	text               string
}

var ownRules = []rule{{4, 0, "from all lookup local"}, {4, 32766, "from all lookup main"},
	{4, 32767, "from all lookup default"}, {6, 0, "from all lookup local"}, {6, 32766, "from all lookup main"}}

// neighbour is a permanent one.
type neighbour struct {
	dev, address, lladdr string
}

type nexthop struct {
	id, dev, proto string
	via            netip.Addr
}

func (n nexthop) String() string {
	text := fmt.Sprintf("id %s via %s dev %s scope link", n.id, n.via, n.dev)
	if n.proto != "" {
		text += " proto " + n.proto
	}
	return text
}

// policy knows rules of the form "from NET fwmark MARK lookup TABLE".
func (c *ipCall) policy(command string, args []string) int {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.family == 0 {
		c.family = 4
	}
	if isShow(command) && len(args) == 0 {
		for _, r := range slices.SortedStableFunc(slices.Values(slices.Concat(ownRules, s.rules)),
			func(a, b rule) int { return a.preference - b.preference }) {
			if r.family == c.family {
				c.p.Printf("%d:\t%s\n", r.preference, r.text)
			}
		}
		return 0
	}
	opts, bad := c.selection(args, "from", "fwmark", "lookup", "preference", "prio")
	preference, err := strconv.Atoi(cmp.Or(opts["preference"], opts["prio"]))
	if bad != "" || err != nil || command != "add" {
		return c.p.Unknown("form of ip rule " + command)
	}
	if c.refuseUser() {
		return 2
	}
	r := rule{c.family, preference, "from " + cmp.Or(opts["from"], "all")}
	if mark := opts["fwmark"]; mark != "" {
		r.text += " fwmark " + mark
	}
	r.text += " lookup " + opts["lookup"]
	// Those of the kernel itself it takes a second time: they have another protocol.
	if slices.Contains(s.rules, r) {
		return c.routeAnswer("RTNETLINK answers: File exists")
	}
	s.rules = append(s.rules, r)
	return 0
}

// nexthop knows objects with a gateway.
func (c *ipCall) nexthop(command string, args []string) int {
	opts, bad := c.selection(args, "id", "via", "dev", "proto")
	s := c.s
	if isShow(command) && bad == "" && opts["dev"] != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, n := range s.nexthops {
			if n.dev == opts["dev"] {
				c.p.Printf("%s \n", n)
			}
		}
		return 0
	}
	via, err := netip.ParseAddr(opts["via"])
	if bad != "" || err != nil || command != "add" {
		return c.p.Unknown("form of ip nexthop " + command)
	}
	if c.refuseUser() {
		return 2
	}
	d, _ := s.m.Netdev(opts["dev"])
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case slices.ContainsFunc(s.nexthops, func(n nexthop) bool { return n.id == opts["id"] }):
		return c.routeAnswer("RTNETLINK answers: File exists")
	case !holds(&d, via):
		return c.routeAnswer("Error: Nexthop has invalid gateway.")
	}
	s.nexthops = append(s.nexthops, nexthop{opts["id"], d.Name, opts["proto"], via})
	return 0
}

// gateway is that of a nexthop object, and its interface.
func (s *State) gateway(id string) (via, dev string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nexthops {
		if n.id == id {
			return n.via.String(), n.dev
		}
	}
	return "", ""
}

// neighbour knows permanent ones.
func (c *ipCall) neighbour(command string, args []string) int {
	opts, bad := c.selection(slices.DeleteFunc(slices.Clone(args), func(a string) bool { return c.isAddress(a) }), "lladdr",
		"dev", "nud")
	if bad != "" || opts["nud"] != "permanent" || opts["dev"] == "" {
		return c.p.Unknown("form of ip neighbour " + command)
	}
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isShow(command):
		for _, n := range s.neighbours {
			if n.dev == opts["dev"] && strings.Contains(n.address, ":") == (c.family == 6) {
				c.p.Printf("%s lladdr %s PERMANENT \n", n.address, n.lladdr)
			}
		}
		return 0
	case c.refuseUser():
		return 2
	case command != "add" || len(args) == 0 || !c.isAddress(args[0]):
		return c.p.Unknown("form of ip neighbour " + command)
	}
	n := neighbour{opts["dev"], args[0], opts["lladdr"]}
	if slices.Contains(s.neighbours, n) {
		return c.routeAnswer("RTNETLINK answers: File exists")
	}
	s.neighbours = append(s.neighbours, n)
	return 0
}

func (c *ipCall) isAddress(a string) bool {
	_, err := netip.ParseAddr(a)
	return err == nil
}

// dropForeign drops what networkd drops when it configures an interface: the policy rules
// of all, and nexthop objects, with their routes, and neighbours of the interface.
func (s *State) dropForeign(name string) {
	s.mu.Lock()
	s.rules = nil
	s.nexthops = slices.DeleteFunc(s.nexthops, func(n nexthop) bool { return n.dev == name })
	s.neighbours = slices.DeleteFunc(s.neighbours, func(n neighbour) bool { return n.dev == name })
	s.mu.Unlock()
	s.m.UpdateNetdev(name, func(d *labsim.Netdev) {
		d.Routes = slices.DeleteFunc(d.Routes, func(r labsim.Route) bool { return r.NHID != "" })
	})
}
