// Package networkd writes and reads the .network and .netdev files of
// systemd-networkd for one IPoIB interface, and builds the commands that make it
// take them.
//
// A mode written into a .network file has no effect: networkd has no [IPoIB]
// section there (252 to 257: "Unknown section 'IPoIB'. Ignoring."). In a .netdev
// file of a P_Key child it has one.
//
// It must not run anything.
package networkd

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Dir is where the files of an administrator are.
const Dir = "/etc/systemd/network"

// Render writes a .network file. It matches by name: the hardware address of
// IPoIB has a part that changes with every load of the driver. Addresses do not
// wait for a subnet manager, nor does the boot wait for the interface.
func Render(header string, i ipconf.Interface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s[Match]\nName=%s\n\n[Link]\nMTUBytes=%d\nRequiredForOnline=no\n\n", header, i.Name, i.MTU)
	fmt.Fprintf(&b, "[Network]\nDHCP=%s\n", map[bool]string{true: "ipv4", false: "no"}[i.DHCP4])
	b.WriteString("LinkLocalAddressing=no\nIPv6AcceptRA=no\nConfigureWithoutCarrier=yes\n")
	for _, a := range i.Addresses {
		fmt.Fprintf(&b, "Address=%s\n", a)
	}
	for _, r := range i.Routes {
		fmt.Fprintf(&b, "\n[Route]\nDestination=%s\nGateway=%s\n", r.To, r.Via)
	}
	if i.DHCP4 {
		b.WriteString(leaseOnly)
	}
	return b.String()
}

// leaseOnly takes the address of a lease and nothing else: a gateway or name server of the fabric
// could cut the host off. Of an IPoIB interface "mac" is the port GUID (networkd-dhcp4.c); RFC 4390
// makes a client identifier obligatory, because the hardware address does not fit into the message.
const leaseOnly = "\n[DHCPv4]\nClientIdentifier=mac\nUseRoutes=no\nUseDNS=no\nUseNTP=no\nUseHostname=no\n"

// NoAddress is the MACAddress= of a .netdev file that leaves the hardware address to the
// driver. Without it networkd makes one up from the name (seen with 252 and 257). ib_ipoib
// then waits for ever for a port that has the GUID in it.
const NoAddress = "none"

// RenderNetdev writes the .netdev file of a P_Key child.
func RenderNetdev(header string, i ipconf.Interface) string {
	return header + fmt.Sprintf("[NetDev]\nName=%s\nKind=ipoib\nMACAddress=%s\n\n[IPoIB]\n", i.Name, NoAddress) +
		fmt.Sprintf("PartitionKey=0x%04x\nMode=%s\n", i.PKey, i.Mode)
}

// RenderParent writes the drop-in by which a parent interface gets a child.
func RenderParent(header, child string) string {
	return header + "[Network]\nIPoIB=" + child + "\n"
}

// RenderBareParent writes the .network file of a parent that nothing else configures.
// networkd makes children only of interfaces that it manages.
func RenderBareParent(header, parent, child string) string {
	return header + fmt.Sprintf("[Match]\nName=%s\n\n[Link]\nRequiredForOnline=no\n\n"+
		"[Network]\nDHCP=no\nLinkLocalAddressing=no\nIPv6AcceptRA=no\nIPoIB=%s\n", parent, child)
}

// File is a parsed .network or .netdev file.
type File struct {
	ipconf.Interface
	Match    []Condition // the conditions; all have to hold, and an empty list matches every interface
	Children []string    // of [Network] IPoIB=
	// Unkept are the settings that this type does not hold, by their names.
	Unkept []string
	// UsesMore is true if a setting has an interface ask otherwise for a lease, or take more of it, than ours does.
	UsesMore bool
}

// Parse reads a file. It leaves out settings that File does not hold. networkd ignores
// lines that it does not understand; Parse returns the rest of such a file, with an
// error that names the lines.
func Parse(text string) (File, error) {
	var f File
	all := tool.Sections(text)
	errs := []error{tool.Unread(all)}
	for _, section := range all {
		f.Unkept = append(f.Unkept, unkeptSettings(section)...)
		f.UsesMore = f.UsesMore || usesMore(section)
		if err := f.section(section); err != nil {
			errs = append(errs, fmt.Errorf("[%s]: %w", section.Name, err))
		}
	}
	return f, errors.Join(errs...)
}

func (f *File) section(s tool.Section) error {
	var err error
	switch s.Name {
	case "Match":
		f.match(s)
	case "Link":
		if v := s.Value("MTUBytes"); v != "" {
			f.MTU, err = parseBytes(v)
		}
	case "Network":
		err = f.network(s)
	case "Address":
		err = f.addresses(s.Values("Address"))
	case "Route":
		err = f.route(s)
	case "NetDev":
		f.Name, f.Address = s.Value("Name"), s.Value("MACAddress")
	case "IPoIB":
		f.Mode = ib.IPoIBMode(s.Value("Mode"))
		if v := s.Value("PartitionKey"); v != "" {
			var key uint64
			key, err = strconv.ParseUint(v, 0, 16)
			f.PKey = uint16(key)
		}
	}
	return err
}

// usesMore compares a section with leaseOnly. [DHCP] is the older name.
func usesMore(s tool.Section) bool {
	return slices.Contains([]string{"DHCPv4", "DHCP"}, s.Name) && slices.ContainsFunc(s.Names(), func(key string) bool {
		v := tool.Switch(s.Value(key))
		return strings.HasPrefix(key, "Use") && v != "no" && v != "0" || key == "ClientIdentifier" && v != "mac"
	})
}

// held are the settings of a .network file that need no mention: a File holds them,
// they change nothing, or Render writes them anyway.
var held = map[string][]string{
	"Link":    {"MTUBytes", "RequiredForOnline"},
	"Network": {"Address", "Gateway", "DHCP", "LinkLocalAddressing", "ConfigureWithoutCarrier", "Description", "IPoIB"},
	"Address": {"Address"},
	"Route":   {"Destination", "Gateway"},
}

// unkeptSettings names the settings of a section that a File does not hold. They are named
// without their values: one may be a key.
func unkeptSettings(s tool.Section) []string {
	var names []string
	for _, key := range s.Names() {
		switch {
		case s.Name == "Match" || slices.Contains(held[s.Name], key):
		case key == "IPv6AcceptRA" && (tool.Switch(s.Value(key)) == "no" || s.Value(key) == "0"):
		case !slices.Contains(names, s.Name+"."+key):
			names = append(names, s.Name+"."+key)
		}
	}
	return names
}

func (f *File) match(s tool.Section) {
	var names []string
	for _, key := range s.Names() {
		c := Condition{Key: key}
		for _, v := range s.Values(key) {
			c.Values = append(c.Values, strings.Fields(v)...)
		}
		f.Match = append(f.Match, c)
		switch key {
		case "MACAddress", "PermanentMACAddress":
			if len(c.Values) == 1 {
				f.Address = strings.ToLower(c.Values[0])
			}
		case "Name":
			names = c.Values
		}
	}
	if len(names) == 1 && !strings.ContainsAny(names[0], "*?[!") {
		f.Name = names[0]
	}
}

func (f *File) network(s tool.Section) error {
	switch s.Value("DHCP") {
	case "yes", "true", "1", "on", "ipv4", "ipv6", "both", "v4", "v6":
		f.DHCP = true
	}
	f.DHCP4 = slices.Contains([]string{"ipv4", "v4"}, s.Value("DHCP"))
	f.Children = append(f.Children, nonEmpty(s.Values("IPoIB"))...)
	if v := s.Value("Gateway"); v != "" {
		for _, gateway := range nonEmpty(s.Values("Gateway")) {
			r, err := ipconf.ParseRoute("", gateway)
			if err != nil {
				continue // _dhcp4 and its like
			}
			f.Routes = append(f.Routes, r)
		}
	}
	return f.addresses(s.Values("Address"))
}

func nonEmpty(values []string) []string {
	var all []string
	for _, v := range values {
		if v != "" {
			all = append(all, v)
		}
	}
	return all
}

func (f *File) addresses(values []string) error {
	for _, v := range nonEmpty(values) {
		if !strings.Contains(v, "/") {
			a, err := netip.ParseAddr(v)
			if err != nil {
				return err
			}
			f.Addresses = append(f.Addresses, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(v)
		if err != nil {
			return err
		}
		f.Addresses = append(f.Addresses, p)
	}
	return nil
}

func (f *File) route(s tool.Section) error {
	via := s.Value("Gateway")
	if via == "" || strings.HasPrefix(via, "_") {
		return nil // a route without a gateway, or that of a lease
	}
	r, err := ipconf.ParseRoute(s.Value("Destination"), via)
	if err == nil {
		f.Routes = append(f.Routes, r)
	}
	return err
}

// parseBytes reads "9000", "9K".
func parseBytes(v string) (int, error) {
	scale := 1
	if rest, ok := strings.CutSuffix(v, "K"); ok {
		v, scale = rest, 1024
	}
	n, err := strconv.Atoi(v)
	return n * scale, err
}

// Reload has networkd read its configuration again.
func Reload() shellcmd.Command { return shellcmd.New("networkctl", "reload").AsRoot().Changes() }

// Reconfigure has networkd configure one interface anew, and only that.
func Reconfigure(name string) shellcmd.Command {
	return shellcmd.New("networkctl", "reconfigure", name).AsRoot().Changes()
}
