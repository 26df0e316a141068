// Package netplan writes the netplan definition of one IPoIB interface, reads
// those of others, and builds the command that hands them to the renderer.
//
// It must not run anything.
package netplan

import (
	_ "embed" // the script
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Device is what one file says about one interface.
type Device struct {
	ID       string // the key, the interface's name if Match is empty
	Section  string // "ethernets", "bonds", …
	Match    *Match // nil: the definition is for the interface that is called ID
	SetName  string
	Renderer string // "networkd", "NetworkManager"; empty: that of the file, see Renderer
	// Interface has what the definition says of the interface. Who it is for say ID and Match.
	ipconf.Interface
	// Unkept are the settings that this type does not hold, by their names.
	Unkept []string
	// Interfaces are the parts of a bond or a bridge.
	Interfaces []string
}

// Match holds the conditions of a definition; empty ones match everything.
type Match struct {
	Name    string // a glob
	Address string
	Drivers []string // globs
}

// Exactly reports whether the conditions fit this interface and no other: by its name,
// or by its hardware address.
func (m Match) Exactly(l ipconf.Link) bool {
	return l.Name != "" && m.Name == l.Name || m.Address != "" && l.HasAddress(m.Address)
}

// Renderers of netplan.
const (
	RendererNetworkd = "networkd"
	RendererNM       = "NetworkManager"
)

// Covers reports whether the definition may be for an interface, or be merged
// with one of ours, whose ID is the interface's name: netplan merges definitions
// of one ID, whatever they match.
func (d Device) Covers(l ipconf.Link) bool {
	if l.Name != "" && (d.ID == l.Name || d.SetName == l.Name) {
		return true
	}
	// A bond or a bridge has no match: it is made under its own name.
	if d.Match == nil || !slices.Contains(physical, d.Section) {
		return false
	}
	m := *d.Match
	return (m.Name == "" || l.HasName(m.Name)) && (m.Address == "" || l.HasAddress(m.Address)) &&
		(len(m.Drivers) == 0 || slices.ContainsFunc(m.Drivers, l.HasDriver))
}

// physical are the sections whose definitions may match interfaces of IPoIB.
var physical = []string{"ethernets"}

// Render writes the file of one interface. It matches by name: a hardware address of
// IPoIB has a part that changes with every load of the driver. Only NetworkManager
// obeys infiniband-mode, and without it takes the interface for Ethernet; networkd
// ignores it (systemd 252 to 257). The subnet manager may start after the boot. So the
// boot does not wait for the interface (optional, and an empty link-local), and the
// addresses do not wait for the fabric (ignore-carrier, which only networkd knows).
func Render(header string, d Device) string {
	var b strings.Builder
	b.WriteString(header)
	fmt.Fprintf(&b, "network:\n  version: 2\n  ethernets:\n    %s:\n", d.ID)
	fmt.Fprintf(&b, "      renderer: %s\n      infiniband-mode: %s\n      mtu: %d\n", d.Renderer, d.Mode, d.MTU)
	fmt.Fprintf(&b, "      dhcp4: %t\n", d.DHCP4)
	if d.DHCP4 {
		b.WriteString(leaseOnly)
	}
	b.WriteString("      dhcp6: false\n      accept-ra: false\n      link-local: []\n      " +
		"optional: true\n")
	if d.Renderer == RendererNetworkd {
		b.WriteString("      ignore-carrier: true\n")
	}
	if len(d.Addresses) > 0 {
		b.WriteString("      addresses:\n")
		for _, a := range d.Addresses {
			b.WriteString("        - " + strconv.Quote(a.String()) + "\n")
		}
	}
	if len(d.Routes) > 0 {
		b.WriteString("      routes:\n")
		for _, r := range d.Routes {
			fmt.Fprintf(&b, "        - to: %q\n          via: %q\n", r.To, r.Via)
		}
	}
	return b.String()
}

// leaseOnly takes the address of a lease and nothing else: a gateway or name server of the fabric
// could cut the host off, and netplan lets networkd take its MTU. The identifier is the port GUID, which RFC 4390 asks
// for. Of all this netplan 0.106 writes only use-routes for NetworkManager, which sends that identifier by itself.
const leaseOnly = "      dhcp-identifier: mac\n      dhcp4-overrides:\n        use-routes: false\n" +
	"        use-dns: false\n        use-ntp: false\n        use-hostname: false\n        use-mtu: false\n"

// Renderer reads which renderer a file names for all interfaces; empty if none.
func Renderer(text string) string {
	var file struct {
		Network struct {
			Renderer string `yaml:"renderer"`
		} `yaml:"network"`
	}
	if len(text) > mostBytes || yaml.Unmarshal([]byte(tool.WithoutMark(text)), &file) != nil {
		return ""
	}
	return file.Network.Renderer
}

// mostBytes bounds what is read as YAML: its parser takes 750 times the size of the text.
const mostBytes = 64 << 10

// Parse reads what a file defines, in order of section and key. Settings that
// are not in Device are passed over.
func Parse(text string) ([]Device, error) {
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return nil, errors.New("not a netplan file that is understood: it is UTF-16, not UTF-8")
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("not a netplan file that is understood: it has %d bytes, more than %d", len(text), mostBytes)
	}
	var file map[string]any
	if err := yaml.Unmarshal([]byte(tool.WithoutMark(text)), &file); err != nil {
		// The source is left out: the lines around may hold the password of a network.
		return nil, errors.New("not a netplan file: " + yaml.FormatError(err, false, false))
	}
	var all []Device
	for top, content := range file {
		if top != "network" {
			return nil, fmt.Errorf("not a netplan file: %q at its top, not \"network\"", top)
		}
		sections, ok := content.(map[string]any)
		if !ok && content != nil {
			return nil, errors.New("not a netplan file: network is not a mapping")
		}
		for section, devices := range sections {
			more, err := parseSection(section, devices)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].Section+"\x00"+all[i].ID < all[j].Section+"\x00"+all[j].ID
	})
	return all, nil
}

// settings are the keys of "network" that are no sections.
var settings = []string{"version", "renderer", "openvswitch"}

func parseSection(section string, content any) ([]Device, error) {
	devices, ok := content.(map[string]any)
	switch {
	case slices.Contains(settings, section) || content == nil:
		return nil, nil
	case !ok:
		return nil, fmt.Errorf("%s is not a mapping", section)
	}
	var all []Device
	for id, settings := range devices {
		d, err := parseDevice(settings)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", section, id, err)
		}
		d.Section, d.ID, d.Interfaces = section, id, parts(settings)
		all = append(all, d)
	}
	return all, nil
}

// words reads a text, or a list of them.
func words(v any) (texts []string, ok bool) {
	if text, isText := v.(string); isText {
		return []string{text}, true
	}
	list, ok := v.([]any)
	for _, one := range list {
		texts = append(texts, fmt.Sprint(one))
	}
	return texts, ok
}

// parseMatch reads the conditions of a definition; nil if it has none.
func parseMatch(device map[string]any) (*Match, error) {
	v, has := device["match"]
	if !has {
		return nil, nil //nolint:nilnil // no conditions are no error
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, errors.New("match is not a mapping")
	}
	var match Match
	for key, value := range m {
		texts, ok := words(value)
		switch {
		case key == "driver" && ok:
			match.Drivers = texts
		case key == "name" && len(texts) == 1:
			match.Name = texts[0]
		case key == "macaddress" && len(texts) == 1:
			match.Address = texts[0]
		default:
			// A condition that is not understood may make the definition one for this interface, or for none.
			return nil, fmt.Errorf("match.%s is not understood", key)
		}
	}
	return &match, nil
}

func parseDevice(settings any) (Device, error) {
	var d Device
	m, ok := settings.(map[string]any)
	if !ok && settings != nil {
		return d, errors.New("it is not a mapping")
	}
	d.Unkept = unkeptSettings(m)
	d.DHCP4 = isOn(m["dhcp4"])
	d.DHCP = d.DHCP4 || isOn(m["dhcp6"])
	d.SetName, _ = m["set-name"].(string)
	d.Renderer, _ = m["renderer"].(string)
	if mode, ok := m["infiniband-mode"].(string); ok {
		d.Mode = ib.IPoIBMode(mode)
	}
	var err error
	if mtu, ok := m["mtu"]; ok {
		if d.MTU, err = strconv.Atoi(fmt.Sprint(mtu)); err != nil {
			return d, fmt.Errorf("mtu %v is not a number", mtu)
		}
	}
	if d.Match, err = parseMatch(m); err != nil {
		return d, err
	}
	addresses, _ := m["addresses"].([]any)
	for _, a := range addresses {
		p, bad := parseAddress(a)
		if bad != nil {
			return d, bad
		}
		d.Addresses = append(d.Addresses, p)
	}
	d.Routes, err = parseRoutes(m)
	return d, err
}

// parseRoutes reads the routes of a device that have a gateway.
func parseRoutes(device map[string]any) ([]ipconf.Route, error) {
	var all []ipconf.Route
	for _, key := range []string{"gateway4", "gateway6"} {
		if device[key] == nil {
			continue
		}
		route, err := ipconf.ParseRoute("", fmt.Sprint(device[key]))
		if err != nil {
			return nil, err
		}
		all = append(all, route)
	}
	routes, _ := device["routes"].([]any)
	for _, r := range routes {
		settings, _ := r.(map[string]any)
		if settings["via"] == nil {
			continue
		}
		route, err := ipconf.ParseRoute(fmt.Sprint(settings["to"]), fmt.Sprint(settings["via"]))
		if err != nil {
			return nil, err
		}
		all = append(all, route)
	}
	return all, nil
}

func parts(settings any) []string {
	m, _ := settings.(map[string]any)
	list, _ := m["interfaces"].([]any)
	var names []string
	for _, i := range list {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

// parseAddress reads an address; one with a label is a mapping of one key.
func parseAddress(a any) (netip.Prefix, error) {
	text := fmt.Sprint(a)
	if m, ok := a.(map[string]any); ok {
		for k := range m {
			text = k
		}
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("address %q: %w", text, err)
	}
	return p, nil
}

// Generate turns all files into configuration of networkd. It changes no interface. If
// a file is not valid, it fails with the file and line.
func Generate() shellcmd.Command {
	return shellcmd.Script("netplan generate", GenerateFunction+"generate\n").AsRoot().Changes()
}

// GenerateFunction is the function generate of a shell, which does it for a script too.
//
//go:embed generate.sh
var GenerateFunction string
