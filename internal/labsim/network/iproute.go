package network

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

type ipRoute struct {
	Type     string   `json:"type,omitempty"`
	Dst      string   `json:"dst"`
	NHID     string   `json:"-"`
	Gateway  string   `json:"gateway,omitempty"`
	Dev      string   `json:"dev,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
	Scope    string   `json:"scope,omitempty"`
	Prefsrc  string   `json:"prefsrc,omitempty"`
	Metric   int      `json:"metric,omitempty"`
	Flags    []string `json:"flags"`
	Pref     string   `json:"pref,omitempty"`
	UID      *int     `json:"uid,omitempty"`
	Cache    *[]any   `json:"cache,omitempty"`
}

func (c *ipCall) route(command string, args []string) int {
	switch {
	case isShow(command):
		return c.routeShow(args)
	case command == "get":
		return c.routeGet(args)
	case c.refuseUser():
		return 2
	case command == "add" || command == "replace" || command == "del":
		return c.routeChange(command, args)
	}
	return c.p.Unknown("ip route " + command)
}

func (s *State) routeView(d *labsim.Netdev, r labsim.Route) ipRoute {
	v := ipRoute{Dst: r.To.String(), NHID: r.NHID, Gateway: r.Via.String(), Dev: d.Name, Protocol: r.Proto, Flags: []string{},
		Metric: s.metric(d, r.To, 1024)}
	if r.Proto == "boot" {
		v.Protocol = "" // printed with -d only
	}
	switch {
	case r.To.Bits() == 0:
		v.Dst = "default"
	case r.To.IsSingleIP():
		v.Dst = r.To.Addr().String()
	}
	return v
}

// metric is that of NetworkManager, by the type of the interface, or the kernel's.
func (s *State) metric(d *labsim.Netdev, to netip.Prefix, six int) int {
	switch {
	case s.byNM(d.Name) && isLinkLocal(to):
		return 1024
	case s.byNM(d.Name) && d.Type == labsim.TypeInfiniBand:
		return 150
	case s.byNM(d.Name):
		return 100
	case to.Addr().Is4():
		return 0
	}
	return six
}

// routes6 lists the routes of IPv6: those of prefixes and those with a gateway.
func (c *ipCall) routes6() []ipRoute {
	list := []ipRoute{}
	for _, d := range c.s.m.Netdevs() {
		for _, p := range d.Addrs {
			if d.Up && p.Addr().Is6() && d.Type != labsim.TypeLoopback {
				list = append(list, ipRoute{Dst: p.Masked().String(), Dev: d.Name, Protocol: "kernel", Flags: []string{},
					Metric: c.s.metric(&d, p, 256), Pref: "medium"})
			}
		}
		for _, r := range d.Routes {
			if d.Up && r.To.Addr().Is6() {
				v := c.s.routeView(&d, r)
				v.Pref = "medium"
				list = append(list, v)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b ipRoute) int {
		one, _ := netip.ParsePrefix(a.Dst)
		two, _ := netip.ParsePrefix(b.Dst)
		return one.Addr().Compare(two.Addr())
	})
	return list
}

// routes lists the routes of a family.
func (c *ipCall) routes() []ipRoute {
	if c.family == 6 {
		return c.routes6()
	}
	list := []ipRoute{}
	if gw, dev := c.s.DefaultRoute(); gw.IsValid() {
		list = append(list, ipRoute{Dst: "default", Gateway: gw.String(), Dev: dev, Protocol: "static", Flags: []string{}})
	}
	for _, d := range c.s.m.Netdevs() {
		for _, r := range d.Routes {
			if d.Up && r.To.Addr().Is4() {
				list = append(list, c.s.routeView(&d, r))
			}
		}
		for _, p := range d.Addrs {
			if !d.Up || !p.Addr().Is4() || d.Type == labsim.TypeLoopback || p.Bits() == 32 {
				continue
			}
			flags := []string{}
			if !c.s.m.Carrier(&d) {
				flags = append(flags, "linkdown")
			}
			list = append(list, ipRoute{
				Dst: p.Masked().String(), Dev: d.Name, Protocol: "kernel", Scope: "link", Prefsrc: p.Addr().String(), Flags: flags,
				Metric: c.s.metric(&d, p, 0),
			})
		}
	}
	return list
}

func (c *ipCall) routeShow(args []string) int {
	var only, dev string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "default" || args[i] == "0.0.0.0/0":
			only = "default"
		case args[i] == "dev" && i+1 < len(args):
			dev = args[i+1]
			i++
		case args[i] == "table" && i+1 < len(args) && args[i+1] == "all":
			i++ // the lab has the main table only
		default:
			return c.p.Unknown("ip route show " + args[i])
		}
	}
	list := slices.DeleteFunc(c.routes(), func(r ipRoute) bool {
		return only != "" && r.Dst != only || dev != "" && r.Dev != dev
	})
	for i := range list {
		if dev != "" {
			list[i].Dev = "" // it was asked for
		}
	}
	return c.printRoutes(list)
}

func (c *ipCall) printRoutes(list []ipRoute) int {
	if c.json {
		return c.printJSON(list)
	}
	for _, r := range list {
		c.p.Printf("%s", r.Dst)
		if r.NHID != "" {
			c.p.Printf(" nhid %s", r.NHID)
		}
		if r.Gateway != "" {
			c.p.Printf(" via %s", r.Gateway)
		}
		for _, word := range [][2]string{{"dev", r.Dev}, {"proto", r.Protocol}, {"scope", r.Scope}, {"src", r.Prefsrc}} {
			if word[1] != "" {
				c.p.Printf(" %s %s", word[0], word[1])
			}
		}
		if r.Metric != 0 {
			c.p.Printf(" metric %d", r.Metric)
		}
		c.p.Printf(" ")
		if len(r.Flags) > 0 {
			c.p.Printf("linkdown ")
		}
		c.p.Printf("\n")
	}
	return 0
}

func (c *ipCall) routeGet(args []string) int {
	if len(args) != 1 {
		return c.p.Unknown("form of ip route get")
	}
	dst, err := netip.ParseAddr(args[0])
	if err != nil {
		c.p.Errorf("Error: any valid address is expected rather than \"%s\".\n", args[0])
		return 1
	}
	uid := c.p.UID
	r := ipRoute{Dst: dst.String(), Flags: []string{}, UID: &uid, Cache: &[]any{}}
	if d, ok := c.s.rides(c.p, dst); ok {
		r.Dev = d.Name
		if len(d.Addrs) > 0 {
			r.Prefsrc = d.Addrs[0].Addr().String()
		}
	} else if !c.fillRoute(&r, dst) {
		c.p.Errorf("RTNETLINK answers: Network is unreachable\n")
		return 2
	}
	if c.json {
		return c.printJSON([]ipRoute{r})
	}
	if r.Type != "" {
		c.p.Printf("%s ", r.Type)
	}
	c.p.Printf("%s ", r.Dst)
	if r.Gateway != "" {
		c.p.Printf("via %s ", r.Gateway)
	}
	sep, cache := "\n", "    cache \n"
	if c.oneline {
		sep = "\\"
	}
	if r.Type == "local" {
		cache = "    cache <local> \n"
	}
	c.p.Printf("dev %s src %s uid %d %s%s", r.Dev, r.Prefsrc, uid, sep, cache)
	return 0
}

func (c *ipCall) fillRoute(r *ipRoute, dst netip.Addr) bool {
	if c.s.LocalAddr(dst) {
		r.Type, r.Dev, r.Prefsrc, r.Flags = "local", "lo", dst.String(), []string{}
		return true
	}
	d, src, via, ok := c.s.Route(dst)
	if !ok {
		return false
	}
	r.Dev, r.Prefsrc = d.Name, src.String()
	if via.IsValid() {
		r.Gateway = via.String()
	}
	return true
}

// routeChange changes one route with a gateway.
func (c *ipCall) routeChange(command string, args []string) int {
	if len(args) == 0 {
		return c.p.Unknown("ip route " + command)
	}
	opts, bad := c.selection(args[1:], "via", "dev", "metric", "proto", "nhid")
	if bad != "" {
		return c.p.Unknown("form of ip route " + command)
	}
	if args[0] == "default" || args[0] == "0.0.0.0/0" {
		return c.defaultChange(command, opts)
	}
	to, err := netip.ParsePrefix(args[0])
	if one, oneErr := netip.ParseAddr(args[0]); oneErr == nil {
		to, err = netip.PrefixFrom(one, one.BitLen()), nil
	}
	if id := opts["nhid"]; id != "" && opts["via"] == "" {
		if opts["via"], opts["dev"] = c.s.gateway(id); opts["via"] == "" {
			return c.routeAnswer("Error: Nexthop id does not exist.")
		}
	}
	via, viaErr := netip.ParseAddr(opts["via"])
	if err != nil || viaErr != nil {
		c.p.Errorf("Error: any valid prefix is expected rather than \"%s\".\n", args[0])
		return 1
	}
	if to != to.Masked() {
		c.p.Errorf("Error: Invalid prefix for given prefix length.\n")
		return 2
	}
	r := labsim.Route{To: to, Via: via, Proto: cmp.Or(opts["proto"], "boot"), NHID: opts["nhid"]}
	if command == "del" {
		return c.routeAnswer(c.s.delRoute(opts["dev"], r))
	}
	return c.routeAnswer(c.s.addRoute(opts["dev"], r, command == "replace"))
}

func (c *ipCall) routeAnswer(text string) int {
	if text == "" {
		return 0
	}
	c.p.Errorf("%s\n", text)
	return 2
}

func (c *ipCall) defaultChange(command string, opts map[string]string) int {
	gw, err := netip.ParseAddr(opts["via"])
	if err != nil || command == "del" {
		return c.p.Unknown("form of ip route " + command)
	}
	if old, _ := c.s.DefaultRoute(); old.IsValid() && command == "add" {
		c.p.Errorf("RTNETLINK answers: File exists\n")
		return 2
	}
	c.s.SetDefault(gw)
	return 0
}
