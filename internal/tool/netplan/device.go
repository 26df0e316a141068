// Package netplan writes the netplan definition of one IPoIB interface, reads
// those of others, and builds the command that hands them to the renderer.
//
// It must not run anything.
package netplan

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Device is what one file says about one interface.
type Device struct {
	ID        string // the key, the interface's name if Match is empty
	Section   string // "ethernets", "bonds", …
	MatchName string // match.name, a glob; with match.macaddress and others only, "*"
	SetName   string
	Renderer  string       // "networkd", "NetworkManager"; empty: that of the file, see Renderer
	Mode      ib.IPoIBMode // infiniband-mode
	MTU       int
	Addresses []netip.Prefix
	Routes    []ipconf.Route
	// Interfaces are the parts of a bond or a bridge.
	Interfaces []string
}

// Renderers of netplan.
const (
	RendererNetworkd = "networkd"
	RendererNM       = "NetworkManager"
)

// Covers reports whether the definition is for the interface of that name.
func (d Device) Covers(name string) bool {
	if d.SetName != "" {
		return d.SetName == name
	}
	if d.MatchName == "" {
		return d.ID == name
	}
	ok, err := path.Match(d.MatchName, name)
	return ok && err == nil && d.MatchName != "*"
}

// Render writes the file of one interface. It matches by name: a hardware
// address of IPoIB has a part that changes with every load of the driver.
// infiniband-mode has an effect with NetworkManager only, which without it takes
// the interface for Ethernet; networkd ignores it (systemd 252 to 257). optional
// and an empty link-local keep the boot from waiting for a fabric whose subnet
// manager may start later, ignore-carrier the addresses, which is networkd's only.
func Render(header string, d Device) string {
	var b strings.Builder
	b.WriteString(header)
	fmt.Fprintf(&b, "network:\n  version: 2\n  ethernets:\n    %s:\n", d.ID)
	fmt.Fprintf(&b, "      renderer: %s\n      infiniband-mode: %s\n      mtu: %d\n", d.Renderer, d.Mode, d.MTU)
	b.WriteString("      dhcp4: false\n      dhcp6: false\n      accept-ra: false\n      link-local: []\n      optional: true\n")
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

// Renderer reads which renderer a file names for all interfaces; empty if none.
func Renderer(text string) string {
	var file struct {
		Network struct {
			Renderer string `yaml:"renderer"`
		} `yaml:"network"`
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return ""
	}
	return file.Network.Renderer
}

// Parse reads what a file defines, in order of section and key. Settings that
// are not in Device are passed over.
func Parse(text string) ([]Device, error) {
	var file struct {
		Network map[string]any `yaml:"network"`
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		// Without the source: the lines around may hold the password of a network.
		return nil, errors.New("not a netplan file: " + yaml.FormatError(err, false, false))
	}
	var all []Device
	for section, content := range file.Network {
		devices, ok := content.(map[string]any)
		if !ok {
			continue // version, renderer
		}
		for id, settings := range devices {
			d, err := parseDevice(settings)
			if err != nil {
				return nil, fmt.Errorf("%s.%s: %w", section, id, err)
			}
			d.Section, d.ID, d.Interfaces = section, id, parts(settings)
			all = append(all, d)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].Section+"\x00"+all[i].ID < all[j].Section+"\x00"+all[j].ID
	})
	return all, nil
}

func parseDevice(settings any) (Device, error) {
	var d Device
	m, ok := settings.(map[string]any)
	if !ok {
		return d, nil
	}
	if match, ok := m["match"].(map[string]any); ok {
		d.MatchName, _ = match["name"].(string)
		if d.MatchName == "" {
			d.MatchName = "*"
		}
	}
	d.SetName, _ = m["set-name"].(string)
	d.Renderer, _ = m["renderer"].(string)
	if mode, ok := m["infiniband-mode"].(string); ok {
		d.Mode = ib.IPoIBMode(mode)
	}
	if mtu, ok := m["mtu"]; ok {
		n, err := strconv.Atoi(fmt.Sprint(mtu))
		if err != nil {
			return d, fmt.Errorf("mtu %v is not a number", mtu)
		}
		d.MTU = n
	}
	addresses, _ := m["addresses"].([]any)
	for _, a := range addresses {
		p, err := parseAddress(a)
		if err != nil {
			return d, err
		}
		d.Addresses = append(d.Addresses, p)
	}
	routes, _ := m["routes"].([]any)
	for _, r := range routes {
		settings, _ := r.(map[string]any)
		if settings["via"] == nil {
			continue // a route without a gateway
		}
		route, err := ipconf.ParseRoute(fmt.Sprint(settings["to"]), fmt.Sprint(settings["via"]))
		if err != nil {
			return d, err
		}
		d.Routes = append(d.Routes, route)
	}
	return d, nil
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

// Generate turns all files into configuration of networkd; it fails with the
// file and line if one of them is not valid, and changes no interface.
func Generate() shellcmd.Command { return shellcmd.New("netplan", "generate").AsRoot().Changes() }
