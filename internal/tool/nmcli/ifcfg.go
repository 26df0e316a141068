package nmcli

import (
	"errors"
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

// ParseIfcfg reads an ifcfg file. If a name is set twice, the last value counts, as in
// a shell. If some lines are not understood, it returns the rest together with the
// error.
func ParseIfcfg(text string) (Profile, error) {
	values := map[string]string{}
	var errs []error
	for n, line := range tool.Lines(tool.WithoutMark(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.ContainsAny(key, " \t") {
			errs = append(errs, fmt.Errorf("line %d: not NAME=value", n))
			continue
		}
		values[key] = unquote(value)
	}
	// A file without ONBOOT is used at boot.
	p := Profile{ID: values["NAME"], UUID: values["UUID"], Type: strings.ToLower(values["TYPE"]),
		Autoconnect: values["ONBOOT"] != "no", Unkept: unkeptIfcfg(values)}
	// Datagram is what a file without CONNECTED_MODE means.
	p.Name, p.Address, p.Mode = values["DEVICE"], strings.ToLower(values["HWADDR"]), ib.ModeDatagram
	if strings.EqualFold(values["CONNECTED_MODE"], "yes") {
		p.Mode = ib.ModeConnected
	}
	p.DHCP = strings.EqualFold(values["BOOTPROTO"], "dhcp")
	if v := values["MTU"]; v != "" {
		mtu, err := strconv.Atoi(v)
		if err != nil {
			errs = append(errs, fmt.Errorf("MTU=%s is not a number", v))
		}
		p.MTU = mtu
	}
	return p, errors.Join(append(errs, p.ifcfgAddresses(values))...)
}

// unquote takes the quotes from a value and drops a comment behind it.
func unquote(value string) string {
	value = strings.TrimSpace(value)
	for _, quote := range []string{`"`, "'"} {
		if rest, ok := strings.CutPrefix(value, quote); ok {
			text, _, _ := strings.Cut(rest, quote)
			return text
		}
	}
	text, _, _ := strings.Cut(value, " #")
	return strings.TrimSpace(text)
}

func (p *Profile) ifcfgAddresses(values map[string]string) error {
	// Counting begins at 0, at 1, or with no number, all of which are in use.
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
	for _, addr := range strings.Fields(values["IPV6ADDR"] + " " + values["IPV6ADDR_SECONDARIES"]) {
		a, err := netip.ParsePrefix(addr)
		if err != nil {
			return errors.New("IPV6ADDR is not an address with its prefix length")
		}
		p.Addresses = append(p.Addresses, a)
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
