package middleware

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

const (
	minMTU     = 68
	maxMTU     = 9216
	defaultMTU = 1500
	// An IPv6 interface needs 1280 bytes.
	minMTUv6 = 1280
)

var aliasFields = []field{
	{name: "type", kind: kindString, enum: []string{"INET", "INET6"}},
	{name: "address", kind: kindString, required: true},
	{name: "netmask", kind: kindInt, required: true},
}

// updateFields is the model of interface.update; type is not part of it. The
// fields of bridges, aggregates and failover pairs are accepted by the model
// and refused here by not being simulated.
var updateFields = []field{
	{name: "name", kind: kindString},
	{name: "description", kind: kindString},
	{name: "ipv4_dhcp", kind: kindBool},
	{name: "ipv6_auto", kind: kindBool},
	{name: "aliases", kind: kindList, items: true, fields: aliasFields, model: "InterfaceCreateAlias"},
	{name: "mtu", kind: kindInt, nullable: true, bounded: true, min: minMTU, max: maxMTU},
}

var interfaceMethods = map[string]method{
	"interface.query": {params: queryParams, role: ifaceRead, call: (*Server).interfaceQuery},
	"interface.update": {role: ifaceWrite, call: (*Server).interfaceUpdate, params: []field{
		{name: "id", kind: kindString, required: true},
		{name: "data", kind: kindModel, required: true, model: "InterfaceUpdate", fields: updateFields},
	}},
	"interface.delete": {role: ifaceWrite, call: (*Server).interfaceDelete, params: []field{
		{name: "id", kind: kindString, required: true},
	}},
}

func (s *Server) interfaceQuery(args []any) (any, error) {
	filters, _ := args[0].([]any)
	return runQuery(s.entries(), filters, asMap(args[1]))
}

// withDefaults adds the defaults that a single instance carries and a query omits.
func withDefaults(e *Object) *Object {
	return e.clone().Set("lag_ports", []any{}).Set("bridge_members", []any{})
}

func (s *Server) entry(name string) *Object {
	for _, e := range s.entries() {
		if id, _ := e.Get("id"); id == name {
			return e
		}
	}
	return nil
}

// entries returns the kernel interfaces and then the rows whose device is
// missing, which appear as fake ones.
func (s *Server) entries() []*Object {
	var out []*Object
	seen := map[string]bool{}
	for _, l := range s.sys.Links() {
		if internalName(l.Name) && s.db.net.row(l.Name) == nil {
			continue
		}
		seen[l.Name] = true
		e := Obj("id", l.Name, "name", l.Name, "fake", false, "type", interfaceType(l.Name), "state", liveState(l))
		out = append(out, s.addConfig(e, l.Name))
	}
	for _, r := range s.db.net.rows {
		if !seen[r.name] {
			e := Obj("id", r.name, "name", r.name, "fake", true, "type", "UNKNOWN", "state", fakeState(r))
			out = append(out, s.addConfig(e, r.name))
		}
	}
	return out
}

// The middleware decides by name only; IPoIB names match none of these.
func internalName(name string) bool {
	prefixes := []string{"wg", "lo", "tun", "tap", "docker", "veth", "vnet", "ix", "tailscale", "mac"}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

func interfaceType(name string) string {
	switch {
	case strings.HasPrefix(name, "br"):
		return "BRIDGE"
	case strings.HasPrefix(name, "bond"):
		return "LINK_AGGREGATION"
	case strings.HasPrefix(name, "vlan"):
		return "VLAN"
	}
	return "PHYSICAL"
}

// addConfig adds the configured half. Without any row in the database every
// interface reads as DHCP and automatic: the sign of a fresh installation.
func (s *Server) addConfig(e *Object, name string) *Object {
	r := s.db.net.row(name)
	if r == nil {
		none := len(s.db.net.rows) == 0
		return e.Set("aliases", []any{}).Set("ipv4_dhcp", none).Set("ipv6_auto", none).
			Set("description", "").Set("mtu", nil)
	}
	var mtu any
	if r.mtu != nil {
		mtu = *r.mtu
	}
	return e.Set("aliases", aliasObjects(r.aliases)).Set("ipv4_dhcp", r.dhcp).Set("ipv6_auto", r.auto6).
		Set("description", r.desc).Set("mtu", mtu)
}

func aliasObjects(list []alias) []any {
	out := make([]any, 0, len(list))
	for _, a := range list {
		out = append(out, Obj("type", family(a.v6), "address", a.ip, "netmask", a.netmask))
	}
	return out
}

func family(v6 bool) string {
	if v6 {
		return "INET6"
	}
	return "INET"
}

func liveState(l Link) *Object {
	var permanent any
	if l.Permanent != "" {
		permanent = l.Permanent
	}
	state := "LINK_STATE_DOWN"
	if l.Up && l.Running {
		state = "LINK_STATE_UP"
	}
	return Obj("name", l.Name, "orig_name", l.Name, "description", l.Name, "mtu", l.MTU, "cloned", false,
		"flags", linkFlags(l), "nd6_flags", []any{}, "capabilities", []any{},
		"link_state", state, "media_type", "Ethernet", "media_subtype", "autoselect",
		"active_media_type", "Ethernet", "active_media_subtype", l.Media,
		"supported_media", []any{}, "media_options", nil,
		"link_address", l.Address, "permanent_link_address", permanent, "hardware_link_address", permanent,
		"rx_queues", 1, "tx_queues", 1, "aliases", liveAliases(l),
		"vrrp_config", nil, "ports", []any{}, "xmit_hash_policy", nil, "lacpdu_rate", nil)
}

func linkFlags(l Link) []string {
	var f []string
	if l.Up {
		f = append(f, "UP")
	}
	f = append(f, "BROADCAST")
	if l.Up && l.Running {
		return append(f, "RUNNING", "MULTICAST", "LOWER_UP")
	}
	return append(f, "MULTICAST")
}

func liveAliases(l Link) []any {
	out := []any{}
	for _, a := range l.Addrs {
		o := Obj("type", family(a.V6()), "address", a.IP, "netmask", a.Prefix)
		if a.Broadcast != "" {
			o.Set("broadcast", a.Broadcast)
		}
		out = append(out, o)
	}
	return out
}

func fakeState(r row) *Object {
	return Obj("name", r.name, "orig_name", r.name, "description", r.desc, "mtu", defaultMTU, "cloned", true,
		"flags", []any{}, "nd6_flags", []any{}, "capabilities", []any{}, "link_state", "",
		"media_type", "", "media_subtype", "", "active_media_type", "", "active_media_subtype", "",
		"supported_media", []any{}, "media_options", []any{},
		"link_address", "", "permanent_link_address", nil, "hardware_link_address", "",
		"aliases", []any{}, "vrrp_config", []any{}, "ports", []any{}, "xmit_hash_policy", nil, "lacpdu_rate", nil)
}

func (s *Server) interfaceUpdate(args []any) (any, error) {
	name, _ := args[0].(string)
	data := asMap(args[1])
	old := s.entry(name)
	if old == nil {
		return nil, notFound("Interface " + name + " does not exist")
	}
	next := s.mergeRow(name, data)
	if errs := s.checkUpdate(next, data); len(errs) > 0 {
		return nil, errs
	}
	s.snapshot()
	r := s.db.net.row(name)
	if r == nil {
		r = s.db.net.add(name)
	}
	next.id = r.id
	*r = next
	return withDefaults(s.entry(next.name)), nil
}

// mergeRow lays the submitted fields over the present configuration. On a
// fresh installation that configuration says DHCP, so a payload that does not
// turn it off gets a row with DHCP.
func (s *Server) mergeRow(name string, data map[string]any) row {
	none := len(s.db.net.rows) == 0
	next := row{name: name, dhcp: none, auto6: none}
	if r := s.db.net.row(name); r != nil {
		next = *r
	}
	if v, ok := data["name"].(string); ok {
		next.name = v
	}
	if v, ok := data["description"].(string); ok {
		next.desc = v
	}
	next.dhcp = boolOr(data, "ipv4_dhcp", next.dhcp)
	next.auto6 = boolOr(data, "ipv6_auto", next.auto6)
	if v, ok := data["mtu"]; ok {
		next.mtu = nil
		if n, isInt := v.(int); isInt {
			next.mtu = &n
		}
	}
	if v, ok := data["aliases"].([]any); ok {
		next.aliases = nil
		for _, it := range v {
			m := asMap(it)
			ip := str(m, "address")
			next.aliases = append(next.aliases, alias{v6: strings.Contains(ip, ":"), ip: ip, netmask: intOr(m, "netmask", 0)})
		}
	}
	return next
}

func (s *Server) checkUpdate(next row, data map[string]any) ValidationErrors {
	var errs ValidationErrors
	for i, a := range next.aliases {
		errs = append(errs, s.checkAlias(next.name, i, a)...)
	}
	for _, r := range s.db.net.rows {
		if r.name == next.name {
			continue
		}
		if r.dhcp && boolOr(data, "ipv4_dhcp", false) {
			errs = append(errs, invalidField("interface_update.ipv4_dhcp", "Only one interface can be used for DHCP.")...)
		}
		if r.auto6 && boolOr(data, "ipv6_auto", false) {
			errs = append(errs, invalidField("interface_update.ipv6_auto",
				"Only one interface can have IPv6 autoconfiguration enabled.")...)
		}
	}
	if next.mtu != nil && *next.mtu < minMTUv6 && slices.ContainsFunc(next.aliases, func(a alias) bool { return a.v6 }) {
		errs = append(errs, invalidField("interface_update.mtu",
			"When specifying an IPv6 address, the MTU cannot be smaller than 1280")...)
	}
	return errs
}

func (s *Server) checkAlias(name string, i int, a alias) ValidationErrors {
	net, err := a.network()
	if err != nil {
		return invalidField(fmt.Sprintf("data.aliases.%d.address", i), "Please provide a valid IP address.")
	}
	// Only configured aliases count, not what the kernel has.
	for _, r := range s.db.net.rows {
		if r.name == name {
			continue
		}
		for _, other := range r.aliases {
			if o, err := other.network(); err == nil && o.Overlaps(net) {
				return invalidField(fmt.Sprintf("interface_update.aliases.%d", i),
					"The network "+net.String()+" is already in use by another interface.")
			}
		}
	}
	return nil
}

func (a alias) network() (netip.Prefix, error) {
	ip, err := netip.ParseAddr(a.ip)
	if err != nil {
		return netip.Prefix{}, err
	}
	return ip.Prefix(a.netmask)
}

func (s *Server) interfaceDelete(args []any) (any, error) {
	name, _ := args[0].(string)
	if s.entry(name) == nil {
		return nil, notFound("Interface " + name + " does not exist")
	}
	s.snapshot()
	s.db.net.remove(name)
	return name, nil
}
