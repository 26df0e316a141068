// Package iproute reads what ip of iproute2 prints as JSON.
//
// It must not run anything.
package iproute

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
)

// Link is one interface of "ip -j link show" or "ip -j -d addr show".
type Link struct {
	Index     int       `json:"ifindex"`
	Name      string    `json:"ifname"`
	Flags     []string  `json:"flags"`
	MTU       int       `json:"mtu"`
	State     string    `json:"operstate"` // "UP", "DOWN", "UNKNOWN", …
	Type      string    `json:"link_type"` // "infiniband", "ether", "loopback", …
	Address   string    `json:"address"`
	Parent    string    `json:"link"`   // of a P_Key child or a VLAN, the interface below
	Master    string    `json:"master"` // of a port of a bond or bridge, that one
	Info      Info      `json:"linkinfo"`
	Addresses []Address `json:"addr_info"`
	VFs       []VF      `json:"vfinfo_list"`
}

// VF is one virtual function of the card of an interface; printed with -d. Those of IPoIB have GUIDs, by Linux and
// iproute2 5.5 and later; they are zero until somebody sets them (mlx5_ib_get_vf_guid of ib_virt.c).
type VF struct {
	Number   int    `json:"vf"`
	NodeGUID string `json:"node guid"`
	PortGUID string `json:"port guid"`
	State    string `json:"link_state"` // "auto", "enable", "disable"
}

// Info is what the kind of an interface adds; printed with -d.
type Info struct {
	Kind string   `json:"info_kind"`
	Data InfoData `json:"info_data"`
}

// InfoData holds the details of an IPoIB interface or a bond. Those of other kinds are
// not read, and their keys may hold values of other types.
type InfoData struct {
	PKey   string // "0x8001"
	Mode   string // "datagram", "connected"; of a bond "active-backup", …
	Active string // of a bond, the port that carries now; empty if none does
}

// UnmarshalJSON takes the keys if they are text.
func (d *InfoData) UnmarshalJSON(text []byte) error {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	d.PKey, _ = all["key"].(string)
	d.Mode, _ = all["mode"].(string)
	d.Active, _ = all["active_slave"].(string)
	return nil
}

// Address is one IP address of an interface.
type Address struct {
	Family    string `json:"family"`
	Local     string `json:"local"`
	PrefixLen int    `json:"prefixlen"`
	Scope     string `json:"scope"`
	Dynamic   bool   `json:"dynamic"` // from DHCP or router advertisements
}

// Prefix gives address and length.
func (a Address) Prefix() (netip.Prefix, error) {
	addr, err := netip.ParseAddr(a.Local)
	if err != nil {
		return netip.Prefix{}, err
	}
	p := netip.PrefixFrom(addr, a.PrefixLen)
	if !p.IsValid() {
		return netip.Prefix{}, fmt.Errorf("prefix length %d does not fit %s", a.PrefixLen, addr)
	}
	return p, nil
}

// Up reports whether the interface is administratively up.
func (l Link) Up() bool { return slices.Contains(l.Flags, "UP") }

// Carrier reports whether the link below is up; of IPoIB, whether the
// broadcast group was joined.
func (l Link) Carrier() bool { return slices.Contains(l.Flags, "LOWER_UP") }

// IsIPoIB reports whether the interface is of InfiniBand hardware type.
func (l Link) IsIPoIB() bool { return l.Type == "infiniband" }

// IsPort reports whether it is of a port, as P_Key children are too. A bond has the hardware address of
// the port that carries.
func (l Link) IsPort() bool { return l.IsIPoIB() && l.Info.Kind != "bond" }

// ParseLinks reads a JSON list of interfaces. An entry without a name, an IPoIB
// hardware address that is not 20 bytes and an address that is none are errors.
func ParseLinks(output string) ([]Link, error) {
	var all []Link
	if err := decode(output, &all); err != nil {
		return nil, err
	}
	// ip prints an empty object for an entry that a filter removed.
	all = slices.DeleteFunc(all, func(l Link) bool { return l.Index == 0 && l.Name == "" })
	for i, l := range all {
		if l.Name == "" {
			return nil, fmt.Errorf("interface %d of the list has no ifname", i)
		}
		if l.IsIPoIB() {
			if _, err := ParseHardwareAddress(l.Address); err != nil {
				return nil, fmt.Errorf("interface %s: %w", l.Name, err)
			}
		}
		for _, a := range l.Addresses {
			if _, err := a.Prefix(); err != nil {
				return nil, fmt.Errorf("interface %s: %w", l.Name, err)
			}
		}
	}
	return all, nil
}

// Route is one route of "ip -j route show".
type Route struct {
	Type    string `json:"type"`  // "unreachable", "local", …; empty for one that leads somewhere
	Table   string `json:"table"` // empty for "main"
	Dst     string `json:"dst"`
	Gateway string `json:"gateway"`
	Dev     string `json:"dev"`
	Metric  int    `json:"metric"`
	// Nexthops are those of a route over several interfaces, which has no Dev.
	Nexthops []Nexthop `json:"nexthops"`
}

// Nexthop is one of several ways.
type Nexthop struct {
	Gateway string `json:"gateway"`
	Dev     string `json:"dev"`
}

// ParseRoutes reads a JSON list of routes; ip prints nothing at all, or an
// empty list, if there are none.
func ParseRoutes(output string) ([]Route, error) {
	if strings.TrimSpace(output) == "" {
		return nil, nil
	}
	var all []Route
	err := decode(output, &all)
	return all, err
}

// decode reads the first line that holds a JSON list; warnings may precede it.
func decode(output string, v any) error {
	for n, line := range tool.Lines(output) {
		if !strings.HasPrefix(strings.TrimSpace(line), "[") {
			continue
		}
		rest := output[strings.Index(output, line):]
		if err := json.NewDecoder(strings.NewReader(rest)).Decode(v); err != nil {
			return tool.Errorf(n, line, "not the JSON of ip: %v", err)
		}
		return nil
	}
	return errors.New("no JSON list: ip is older than 4.12 or failed")
}

var devWord = regexp.MustCompile(`(?m)^.*\bdev (\S+)`)

// ParseRouteGet reads the interface out of "ip -o route get ADDRESS".
func ParseRouteGet(output string) (string, error) {
	m := devWord.FindStringSubmatch(output)
	if m == nil {
		return "", fmt.Errorf(`no "dev" in %q`, strings.TrimSpace(output))
	}
	return m[1], nil
}

// HardwareAddress is the 20-byte address of an IPoIB interface.
type HardwareAddress struct {
	Connected bool // bit 0x80 of the first byte: the interface can do connected mode
	PortGUID  ib.GUID
}

// ParseHardwareAddress reads "80:00:02:08:fe:80:…:4e:d1".
func ParseHardwareAddress(s string) (HardwareAddress, error) {
	if len(s) != 20*3-1 {
		return HardwareAddress{}, fmt.Errorf("hardware address %q is not of 20 bytes", s)
	}
	guid, err := ib.ParseGUID(s[12*3:])
	if err != nil {
		return HardwareAddress{}, fmt.Errorf("hardware address %q: %w", s, err)
	}
	var flags uint32
	if _, err := fmt.Sscanf(s[:2], "%02x", &flags); err != nil {
		return HardwareAddress{}, fmt.Errorf("hardware address %q: not hexadecimal", s)
	}
	return HardwareAddress{Connected: flags&0x80 != 0, PortGUID: guid}, nil
}
