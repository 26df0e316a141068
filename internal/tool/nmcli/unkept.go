package nmcli

import (
	"slices"
	"strings"
)

// held are the settings that a Profile holds, or that say nothing.
var held = map[string][]string{
	"connection": {"id", "uuid", "type", "interface-name", "timestamp", "permissions"},
	"infiniband": {"mac-address", "mtu", "transport-mode", "p-key", "parent"},
	"user":       {mark},
	"ipv4":       {"method", "address", "addresses", "route", "gateway", "may-fail"},
	"ipv6":       {"method", "address", "addresses", "route", "gateway", "may-fail", "addr-gen-mode", "ip6-privacy"},
}

// unkeptSettings names the settings of a profile that a Profile does not hold. They are named
// without their values: one may be a password.
func unkeptSettings(f profile) []string {
	var names []string
	for _, section := range f {
		for _, name := range section.Names() {
			if !isHeld(section.Name, name, section.Value(name)) {
				names = append(names, section.Name+"."+name)
			}
		}
	}
	return names
}

func isHeld(section, key, value string) bool {
	if strings.HasPrefix(section, "ipv") {
		key = strings.TrimRight(key, "0123456789")
	}
	switch {
	case section == "ipv6" && key == "method":
		return value != "auto" // by router advertisements
	case section == "connection" && key == "autoconnect":
		return !isOff(value)
	}
	return value == "" || slices.Contains(held[section], key)
}

func isOff(value string) bool {
	return slices.Contains([]string{"false", "no", "off", "0", "n", "f"}, strings.ToLower(value))
}

// heldIfcfg are the names of an ifcfg file that a Profile holds, or that say nothing.
var heldIfcfg = []string{
	"NAME", "UUID", "TYPE", "DEVICE", "HWADDR", "CONNECTED_MODE", "BOOTPROTO", "MTU", "IPADDR", "PREFIX", "NETMASK",
	"GATEWAY", "PROXY_METHOD", "BROWSER_ONLY", "IPV4_FAILURE_FATAL", "IPV6_FAILURE_FATAL", "USERCTL", "NETWORK",
	"BROADCAST", "IPV6INIT",
	"IPV6_ADDR_GEN_MODE", "IPV6_PRIVACY", "IPV6ADDR", "IPV6ADDR_SECONDARIES",
}

// unkeptIfcfg is unkept of an ifcfg file.
func unkeptIfcfg(values map[string]string) []string {
	var names []string
	for name, value := range values {
		switch {
		case value == "" || slices.Contains(heldIfcfg, strings.TrimRight(name, "0123456789")):
		case (name == "ONBOOT" || name == "NM_CONTROLLED" || name == "DEFROUTE") && value == "yes":
		case (name == "IPV6_AUTOCONF" || name == "IPV6_DEFROUTE") && value == "no":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
