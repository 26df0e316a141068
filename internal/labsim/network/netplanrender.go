package network

import (
	"fmt"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
)

// render writes the networkd files below root.
func (s *State) render(root string, p *plan) {
	dir := root + "/run/systemd/network"
	for _, old := range append(s.m.FS.Glob(dir+"/10-netplan-*"), s.m.FS.Glob(root+nmRunDir+"/netplan-*")...) {
		s.m.FS.Drop(old)
	}
	for _, id := range p.ids {
		i := p.ifaces[id]
		if i.renderer == "NetworkManager" || i.renderer == "" && p.renderer == "NetworkManager" {
			s.m.FS.Put(root+nmRunDir+"/netplan-"+id+".nmconnection", i.keyfile(), 0o600)
			continue
		}
		// netplan 1.1 has the service that waits for the network list what it waits for
		// instead.
		i.required = s.m.OS != labsim.Debian12
		s.m.FS.Put(dir+"/10-netplan-"+id+".network", i.networkFile(), 0o640)
		if i.mtu != 0 {
			s.m.FS.Put(dir+"/10-netplan-"+id+".link",
				fmt.Sprintf("[Match]\nOriginalName=%s\n\n[Link]\nWakeOnLan=off\nMTUBytes=%d\n", id, i.mtu), 0o640)
		}
	}
}

func (i *planIface) networkFile() string {
	var b strings.Builder
	match := "Name=" + i.id
	if i.matchMA != "" {
		match = "PermanentMACAddress=" + i.matchMA
	}
	b.WriteString("[Match]\n" + match + "\n")
	online := i.optional && !i.required
	if online || i.mtu != 0 {
		b.WriteString("\n[Link]\n")
		if online {
			b.WriteString("RequiredForOnline=no\n")
		}
		if i.mtu != 0 {
			fmt.Fprintf(&b, "MTUBytes=%d\n", i.mtu)
		}
	}
	b.WriteString("\n[Network]\n")
	if i.dhcp4 {
		b.WriteString("DHCP=ipv4\n")
	}
	b.WriteString("LinkLocalAddressing=" + i.linkLocalValue() + "\n")
	for _, a := range i.addresses {
		b.WriteString("Address=" + a + "\n")
	}
	if i.noRA {
		b.WriteString("IPv6AcceptRA=no\n")
	}
	if i.ignoreCarrier {
		b.WriteString("ConfigureWithoutCarrier=yes\n")
	}
	for _, r := range i.routes {
		b.WriteString("\n[Route]\nDestination=" + r[0] + "\nGateway=" + r[1] + "\n")
	}
	if i.dhcp4 {
		b.WriteString("\n[DHCP]\nRouteMetric=100\nUseMTU=true\n")
		if i.clientID == "mac" {
			b.WriteString("ClientIdentifier=mac\n")
		}
		for _, o := range [][2]string{{"use-dns", "UseDNS"}, {"use-ntp", "UseNTP"}, {"use-hostname", "UseHostname"},
			{"use-routes", "UseRoutes"}, {"use-mtu", "UseMTU"}} {
			if on, set := i.overrides[o[0]]; set && !on {
				b.WriteString(o[1] + "=false\n")
			}
		}
	}
	if i.mode != "" {
		b.WriteString("\n[IPoIB]\nMode=" + i.mode + "\n")
	}
	return b.String()
}

func (i *planIface) linkLocalValue() string {
	if !i.linkLocalSet {
		return "ipv6"
	}
	switch strings.Join(i.linkLocal, ",") {
	case "":
		return "no"
	case "ipv4":
		return "ipv4"
	case "ipv6":
		return "ipv6"
	}
	return "yes"
}

// keyfile is the profile that netplan 1.1.2 writes for NetworkManager. Without
// infiniband-mode it takes the interface for Ethernet.
func (i *planIface) keyfile() string {
	var b strings.Builder
	kind := "ethernet"
	if i.mode != "" {
		kind = "infiniband"
	}
	fmt.Fprintf(&b, "[connection]\nid=netplan-%s\ntype=%s\ninterface-name=%s\n\n[%s]\n", i.id, kind, i.id, kind)
	if i.mtu != 0 {
		fmt.Fprintf(&b, "mtu=%d\n", i.mtu)
	}
	if i.mode != "" {
		b.WriteString("transport-mode=" + i.mode + "\n")
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		n, lines := 0, ""
		add := func(key, value string) {
			if strings.Contains(value, ":") == (family == "ipv6") {
				n++
				lines += fmt.Sprintf("%s%d=%s\n", key, n, value)
			}
		}
		for _, a := range i.addresses {
			add("address", a)
		}
		if family == "ipv6" && n > 0 {
			lines += "ip6-privacy=0\n"
		}
		method := map[bool]string{true: "manual",
			false: map[string]string{"ipv4": "disabled", "ipv6": "ignore"}[family]}[n > 0]
		if family == "ipv4" && i.dhcp4 {
			method = "auto"
			if on, set := i.overrides["use-routes"]; set && !on {
				lines += "ignore-auto-routes=true\nnever-default=true\n"
			}
		}
		n = 0
		for _, r := range i.routes {
			add("route", r[0]+","+r[1])
		}
		fmt.Fprintf(&b, "\n[%s]\nmethod=%s\n%s", family, method, lines)
	}
	return b.String()
}
