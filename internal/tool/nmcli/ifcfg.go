package nmcli

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// IfcfgDir is where RHEL up to 9 also keeps profiles, in the form of shell
// assignments. They are read, never written.
const IfcfgDir = "/etc/sysconfig/network-scripts"

// ParseIfcfg reads an ifcfg file. Of a name that is set twice, the last value
// counts, as in a shell.
func ParseIfcfg(text string) (Profile, error) {
	values := map[string]string{}
	for n, line := range tool.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.ContainsAny(key, " \t") {
			return Profile{}, tool.Errorf(n, line, "want NAME=value")
		}
		values[key] = strings.Trim(value, `"'`)
	}
	p := Profile{ID: values["NAME"], UUID: values["UUID"], Type: strings.ToLower(values["TYPE"]), Autoconnect: values["ONBOOT"] != "no"}
	p.Name, p.Address, p.Mode = values["DEVICE"], strings.ToLower(values["HWADDR"]), ib.ModeDatagram
	if strings.EqualFold(values["CONNECTED_MODE"], "yes") {
		p.Mode = ib.ModeConnected
	}
	p.DHCP = strings.EqualFold(values["BOOTPROTO"], "dhcp")
	if v := values["MTU"]; v != "" {
		mtu, err := strconv.Atoi(v)
		if err != nil {
			return p, fmt.Errorf("MTU=%s is not a number", v)
		}
		p.MTU = mtu
	}
	return p, p.ifcfgAddresses(values)
}

func (p *Profile) ifcfgAddresses(values map[string]string) error {
	for _, n := range []string{"", "0", "1", "2", "3"} {
		addr, bits := values["IPADDR"+n], values["PREFIX"+n]
		if addr == "" {
			continue
		}
		a, err := netip.ParseAddr(addr)
		if err != nil || !a.Is4() {
			return fmt.Errorf("IPADDR%s=%s is not an address of IPv4", n, addr)
		}
		if bits == "" {
			bits = values["NETMASK"+n]
		}
		length, err := ipconf.MaskBits(bits, a)
		if err != nil {
			return fmt.Errorf("IPADDR%s: %w", n, err)
		}
		p.Addresses = append(p.Addresses, netip.PrefixFrom(a, length))
	}
	if gw := values["GATEWAY"]; gw != "" {
		r, err := ipconf.ParseRoute("", gw)
		if err != nil {
			return fmt.Errorf("GATEWAY: %w", err)
		}
		p.Routes = append(p.Routes, r)
	}
	return nil
}
