package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/systemd"
)

// The JSON shapes of iproute2 6.1; the order of fields is that of its output.
type ipLink struct {
	Index     int      `json:"ifindex"`
	Link      string   `json:"link,omitempty"`
	Name      string   `json:"ifname"`
	Flags     []string `json:"flags"`
	MTU       int      `json:"mtu"`
	Qdisc     string   `json:"qdisc"`
	State     string   `json:"operstate"`
	Linkmode  string   `json:"linkmode,omitempty"`
	Master    string   `json:"master,omitempty"`
	Group     string   `json:"group"`
	Txqlen    int      `json:"txqlen"`
	LinkType  string   `json:"link_type,omitempty"`
	Address   string   `json:"address,omitempty"`
	Broadcast string   `json:"broadcast,omitempty"`
	*ipDetails
	VFs      *[]ipVF   `json:"vfinfo_list,omitempty"`
	AddrInfo *[]ipAddr `json:"addr_info,omitempty"`
}

type ipDetails struct {
	Promiscuity int         `json:"promiscuity"`
	Allmulti    int         `json:"allmulti"`
	MinMTU      int         `json:"min_mtu"`
	MaxMTU      int         `json:"max_mtu"`
	Linkinfo    *ipLinkinfo `json:"linkinfo,omitempty"`
	AddrGen     string      `json:"inet6_addr_gen_mode,omitempty"` // of "ip link" only
	TxQueues    int         `json:"num_tx_queues"`
	RxQueues    int         `json:"num_rx_queues"`
	GsoSize     int         `json:"gso_max_size"`
	GsoSegs     int         `json:"gso_max_segs"`
	TsoSize     int         `json:"tso_max_size"`
	TsoSegs     int         `json:"tso_max_segs"`
	GroSize     int         `json:"gro_max_size"`
	GsoIPv4     int         `json:"gso_ipv4_max_size,omitempty"` // of iproute2 6.3 and later
	GroIPv4     int         `json:"gro_ipv4_max_size,omitempty"`
	ParentBus   string      `json:"parentbus,omitempty"`
	ParentDev   string      `json:"parentdev,omitempty"`
}

type ipLinkinfo struct {
	Kind      string `json:"info_kind,omitempty"`
	Data      any    `json:"info_data,omitempty"` // an ipIPoIB or an ipBond
	SlaveKind string `json:"info_slave_kind,omitempty"`
	SlaveData any    `json:"info_slave_data,omitempty"`
}

type ipBond struct {
	Mode     string `json:"mode"`
	Active   string `json:"active_slave,omitempty"`
	Miimon   int    `json:"miimon"`
	Primary  string `json:"primary,omitempty"`
	Reselect string `json:"primary_reselect"`
	FailOver string `json:"fail_over_mac"`
}

type ipSlave struct {
	State string `json:"state"`
	MII   string `json:"mii_status"`
}

type ipIPoIB struct {
	Key    string `json:"key"`
	Mode   string `json:"mode"`
	Umcast string `json:"umcast"`
}

type ipAddr struct {
	Family    string `json:"family"`
	Local     string `json:"local"`
	Prefixlen int    `json:"prefixlen"`
	Broadcast string `json:"broadcast,omitempty"`
	Scope     string `json:"scope"`
	Protocol  string `json:"protocol,omitempty"`
	Dynamic   bool   `json:"dynamic,omitempty"`
	NoRoute   bool   `json:"noprefixroute,omitempty"`
	Label     string `json:"label,omitempty"`
	Valid     uint32 `json:"valid_life_time"`
	Preferred uint32 `json:"preferred_life_time"`
}

const forever = 0xffffffff

func (c *ipCall) view(d *labsim.Netdev) ipLink {
	carrier := c.s.m.Carrier(d)
	v := ipLink{
		Index: d.Index, Link: d.Parent, Name: d.Name, Flags: kernelFlags(d, carrier), MTU: d.MTU, Qdisc: "noop",
		State: "DOWN", Group: "default", Txqlen: 1000, LinkType: "ether", Address: d.HardwareAddress(),
		Broadcast: d.Broadcast(), Master: d.Master,
	}
	if d.Up || d.Opened { // the queue is made once and stays
		v.Qdisc = "fq_codel"
	}
	if d.Up && carrier {
		v.State = "UP"
	}
	switch d.Type {
	case labsim.TypeLoopback:
		v.LinkType, v.State, v.Qdisc, v.Broadcast = "loopback", "UNKNOWN", "noqueue", "00:00:00:00:00:00"
	case labsim.TypeInfiniBand:
		v.LinkType, v.Txqlen = "infiniband", 256
	}
	if c.details {
		v.ipDetails = details(d)
		c.addSlave(v.ipDetails, d, carrier)
		if c.modern() {
			v.GsoIPv4, v.GroIPv4 = v.GsoSize, v.GroSize
		}
	}
	// ib_ipoib can always be asked for virtual functions.
	if d.Type == labsim.TypeInfiniBand && d.Parent == "" && d.Kind == "" && (c.details || c.ofLinks) {
		v.VFs = virtual(d)
	}
	return v
}

// modern says whether iproute2 is one of 2024 or later.
func (c *ipCall) modern() bool { return c.s.m.OS.System().Systemd >= 257 }

func kernelFlags(d *labsim.Netdev, carrier bool) []string {
	switch {
	case d.Type == labsim.TypeLoopback:
		return []string{"LOOPBACK", "UP", "LOWER_UP"}
	case !d.Up:
		return []string{"BROADCAST", "MULTICAST"}
	case !carrier:
		return []string{"NO-CARRIER", "BROADCAST", "MULTICAST", "UP"}
	}
	return []string{"BROADCAST", "MULTICAST", "UP", "LOWER_UP"}
}

func details(d *labsim.Netdev) *ipDetails {
	v := &ipDetails{
		MinMTU: 68, MaxMTU: 9978, TxQueues: 1, RxQueues: 1, GsoSize: 65536, GsoSegs: 65535,
		TsoSize: 65536, TsoSegs: 65535, GroSize: 65536,
	}
	switch {
	case d.Kind == labsim.KindBond:
		v.MaxMTU = 65535
		v.Linkinfo = &ipLinkinfo{Kind: d.Kind, Data: ipBond{d.BondMode, d.Active, 100, d.Primary, "always", "active"}}
		return v
	case d.Type == labsim.TypeInfiniBand:
		v.MinMTU, v.MaxMTU = 0, labsim.ConnectedMaxMTU
		v.Linkinfo = &ipLinkinfo{Kind: "ipoib",
			Data: ipIPoIB{fmt.Sprintf("%#x", d.PKey), d.Mode, fmt.Sprintf("%04x", d.Umcast)}}
	}
	switch {
	case d.Port != nil && d.Parent == "":
		v.ParentBus, v.ParentDev = "pci", d.Port.Card.Config.BDF
	case d.PCI != "":
		v.ParentBus, v.ParentDev = "pci", d.PCI
	}
	return v
}

// addSlave adds what a bond says of its port.
func (c *ipCall) addSlave(v *ipDetails, d *labsim.Netdev, carrier bool) {
	bond, ok := c.s.m.Netdev(d.Master)
	if !ok || v.Linkinfo == nil {
		return
	}
	slave := ipSlave{"BACKUP", "DOWN"}
	if bond.Active == d.Name {
		slave.State = "ACTIVE"
	}
	if carrier {
		slave.MII = "UP"
	}
	v.Linkinfo.SlaveKind, v.Linkinfo.SlaveData = labsim.KindBond, slave
}

func (c *ipCall) addrs(d *labsim.Netdev, scope string) []ipAddr {
	out := []ipAddr{}
	for _, p := range inOrder(d.Addrs) {
		a := ipAddr{
			Family: "inet", Local: p.Addr().String(), Prefixlen: p.Bits(), Broadcast: Broadcast(p), Scope: scopeOf(p),
			// NetworkManager makes the routes of prefixes itself.
			NoRoute: c.s.byNM(d.Name), Label: d.Name, Valid: forever, Preferred: forever,
		}
		if slices.Contains(d.Leased, p) {
			a.Dynamic, a.Valid, a.Preferred = true, 43200, 43200
		}
		if slices.Contains(d.Bare, p) {
			a.Broadcast = ""
		}
		if p.Addr().Is6() {
			a.Family, a.Label = "inet6", ""
		}
		// iproute2 of 2023 and later say who made an address.
		if a.Scope == "link" && !a.NoRoute && c.modern() {
			a.Protocol = "kernel_ll"
		}
		if !c.wants(p) || scope != "" && a.Scope != scope {
			continue
		}
		out = append(out, a)
	}
	return out
}

// inOrder is how the kernel lists addresses: those of IPv6 after those of IPv4, and
// by their scope.
func inOrder(addrs []netip.Prefix) []netip.Prefix {
	rank := func(p netip.Prefix) int {
		switch {
		case p.Addr().Is4():
			return 0
		case isLinkLocal(p):
			return 2
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(addrs), func(a, b netip.Prefix) int { return rank(a) - rank(b) })
}

func scopeOf(p netip.Prefix) string {
	switch {
	case p.Addr().IsLoopback():
		return "host"
	case isLinkLocal(p) && p.Addr().Is6():
		return "link"
	}
	return "global"
}

func (c *ipCall) printAddrs(devs []labsim.Netdev, scope string) int {
	views := make([]ipLink, 0, len(devs))
	for i := range devs {
		addrs := c.addrs(&devs[i], scope)
		if (c.family != 0 || scope != "") && len(addrs) == 0 {
			continue
		}
		v := c.view(&devs[i])
		if c.family != 0 && !c.details {
			v.LinkType, v.Address, v.Broadcast = "", "", ""
		}
		v.AddrInfo = &addrs
		views = append(views, v)
	}
	if c.json {
		return c.printJSON(views)
	}
	for i := range views {
		if c.oneline {
			c.onelineAddrs(&views[i])
			continue
		}
		c.printHead(&views[i])
		for _, a := range *views[i].AddrInfo {
			c.p.Printf("    %s\n       valid_lft forever preferred_lft forever\n", addrText(a))
		}
	}
	return 0
}

func addrText(a ipAddr) string {
	text := fmt.Sprintf("%s %s/%d ", a.Family, a.Local, a.Prefixlen)
	if a.Broadcast != "" {
		text += "brd " + a.Broadcast + " "
	}
	text += "scope " + a.Scope
	if a.Protocol != "" {
		text += " proto " + a.Protocol
	}
	if a.NoRoute {
		text += " noprefixroute"
	}
	return text + " " + a.Label
}

func (c *ipCall) onelineAddrs(v *ipLink) {
	for _, a := range *v.AddrInfo {
		c.p.Printf("%d: %s    %s\\       valid_lft forever preferred_lft forever\n", v.Index, v.Name, addrText(a))
	}
}

func (c *ipCall) printHead(v *ipLink) {
	name, mode := v.Name, ""
	if v.Link != "" {
		name += "@" + v.Link
	}
	if v.Linkmode != "" {
		mode = "mode " + v.Linkmode + " "
	}
	sep := "\n"
	if c.oneline {
		sep = "\\"
	}
	c.p.Printf("%d: %s: <%s> mtu %d qdisc %s state %s %sgroup %s qlen %d", v.Index, name, strings.Join(v.Flags, ","),
		v.MTU, v.Qdisc, v.State, mode, v.Group, v.Txqlen)
	if v.LinkType != "" {
		c.p.Printf("%s    link/%s %s brd %s", sep, v.LinkType, v.Address, v.Broadcast)
	}
	if d := v.ipDetails; d != nil {
		gap := " "
		if !c.modern() {
			gap = "  "
		}
		c.p.Printf(" promiscuity %d%sallmulti %d minmtu %d maxmtu %d ", d.Promiscuity, gap, d.Allmulti, d.MinMTU, d.MaxMTU)
		if d.Linkinfo != nil {
			switch data := d.Linkinfo.Data.(type) {
			case ipIPoIB:
				c.p.Printf("%s    ipoib pkey %s mode %s umcast %s ", sep, data.Key, data.Mode, data.Umcast)
			case ipBond:
				c.p.Printf("%s    bond mode %s active_slave %s miimon %d ", sep, data.Mode, data.Active, data.Miimon)
			}
		}
		if d.AddrGen != "" {
			c.p.Printf("addrgenmode %s ", d.AddrGen)
		}
		c.p.Printf("numtxqueues %d numrxqueues %d gso_max_size %d gso_max_segs %d tso_max_size %d "+
			"tso_max_segs %d gro_max_size %d ", d.TxQueues, d.RxQueues, d.GsoSize, d.GsoSegs, d.TsoSize, d.TsoSegs, d.GroSize)
		if d.GsoIPv4 > 0 {
			c.p.Printf("gso_ipv4_max_size %d gro_ipv4_max_size %d ", d.GsoIPv4, d.GroIPv4)
		}
		if d.ParentDev != "" {
			c.p.Printf("parentbus %s parentdev %s ", d.ParentBus, d.ParentDev)
		}
	}
	c.p.Printf("\n")
}

// addrGen is who makes link-local addresses: the kernel, or nobody where a service
// sees to it, or is told to have none.
func (s *State) addrGen(name string) string {
	if n := s.networkFor(name); s.byNM(name) || n != nil && systemd.IsNo(n.Last("Network.LinkLocalAddressing")) {
		return "none"
	}
	return "eui64"
}

func (c *ipCall) printLinks(devs []labsim.Netdev) int {
	views := make([]ipLink, 0, len(devs))
	c.ofLinks = true
	for i := range devs {
		v := c.view(&devs[i])
		v.Linkmode = "DEFAULT"
		if v.ipDetails != nil {
			v.AddrGen = c.s.addrGen(devs[i].Name)
		}
		views = append(views, v)
	}
	if c.json {
		return c.printJSON(views)
	}
	for i := range views {
		c.printHead(&views[i])
	}
	return 0
}
