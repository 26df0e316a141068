// Package nmcli writes and reads the profiles of NetworkManager for one IPoIB
// interface, and builds the commands of nmcli, and of busctl for its checkpoints.
//
// It must not run anything.
package nmcli

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the hash of UUIDs of version 5 (RFC 9562), not of secrets
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Dir is where profiles are kept.
const Dir = "/etc/NetworkManager/system-connections"

// mark is what a profile of ours says in its section [user]. NetworkManager
// drops the comments of a profile whenever it rewrites it, as a checkpoint does;
// user data stays.
const mark = "ibfabric.terraform.infiniband"

// Profile is one connection profile.
type Profile struct {
	ipconf.Interface
	ID, UUID, Type string
	Ours           bool
	// Unkept are the settings that this type does not hold, by their names.
	Unkept []string
	// Autoconnect is false if the profile is not used at boot.
	Autoconnect bool
}

// UUID is the one that every apply gives to the profile of that name.
// Fixed, so that a second apply finds the profile of the first one, whatever became of the state.
func UUID(name string) string {
	h := sha1.Sum([]byte("ibfabric/infiniband " + name)) //nolint:gosec // see the import
	// Version 5, which is a hash of a name, and the variant of RFC 4122.
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// Render writes a profile. It names the interface of a port by its hardware address, of
// which NetworkManager compares only the last 8 bytes, the port GUID. It names a P_Key
// child by its interface name. The mode is always written: without one, NetworkManager
// sets datagram.
func Render(header string, p Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s[connection]\nid=%s\nuuid=%s\ntype=infiniband\n", header, p.ID, p.UUID)
	if p.PKey != 0 {
		fmt.Fprintf(&b, "interface-name=%s\n", p.Name)
	}
	b.WriteString("\n[infiniband]\n")
	if p.PKey != 0 {
		fmt.Fprintf(&b, "p-key=%d\nparent=%s\n", p.PKey, p.Parent)
	} else {
		fmt.Fprintf(&b, "mac-address=%s\n", strings.ToUpper(p.Address))
	}
	fmt.Fprintf(&b, "mtu=%d\ntransport-mode=%s\n\n[user]\n%s=managed\n", p.MTU, p.Mode, mark)
	v4, v6 := ipconf.Split(p.Addresses)
	if p.DHCP4 {
		b.WriteString("\n[ipv4]\nmethod=auto\n" + leaseOnly)
	} else {
		renderFamily(&b, "ipv4", v4, p.Routes)
	}
	renderFamily(&b, "ipv6", v6, p.Routes)
	return b.String()
}

// leaseOnly takes the address of a lease and nothing else: a gateway or name server of the fabric
// could cut the host off. Of an IPoIB interface "mac" is the port GUID; RFC 4390 makes a client
// identifier obligatory.
const leaseOnly = "dhcp-client-id=mac\nignore-auto-dns=true\nignore-auto-routes=true\nnever-default=true\n"

func renderFamily(b *strings.Builder, section string, addresses []netip.Prefix, routes []ipconf.Route) {
	method := "manual"
	if len(addresses) == 0 {
		method = "disabled"
	}
	fmt.Fprintf(b, "\n[%s]\nmethod=%s\n", section, method)
	for n, a := range addresses {
		fmt.Fprintf(b, "address%d=%s\n", n+1, a)
	}
	n := 0
	for _, r := range routes {
		if r.Via.Is4() == (section == "ipv4") {
			n++
			fmt.Fprintf(b, "route%d=%s,%s\n", n, r.To, r.Via)
		}
	}
}

// Parse reads a profile. It leaves out settings that Profile does not hold. If some
// lines are not understood, it returns the rest together with the error.
func Parse(text string) (Profile, error) {
	p := Profile{Autoconnect: true}
	f := profile(tool.Sections(text))
	c := f.section("connection")
	p.ID, p.UUID, p.Type, p.Name = c.Value("id"), c.Value("uuid"), c.Value("type"),
		c.Value("interface-name")
	p.Autoconnect = !isOff(c.Value("autoconnect"))
	errs := []error{tool.Unread(f)}
	if p.Type == "" {
		errs = append(errs, errors.New("not a profile of NetworkManager: [connection] has no type"))
	}
	p.Ours = slices.Contains(f.section("user").Names(), mark)
	errs = append(errs, p.infiniband(f.section("infiniband")))
	if p.Type == "bond" {
		p.MTU, _ = strconv.Atoi(f.section("ethernet").Value("mtu")) // none, or "auto", is none
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if err := p.family(f.section(family)); err != nil {
			errs = append(errs, fmt.Errorf("[%s]: %w", family, err))
		}
	}
	p.Unkept = unkeptSettings(f)
	return p, errors.Join(errs...)
}

// profile are the sections of a file. One that stands twice is one for NetworkManager.
type profile []tool.Section

func (f profile) section(name string) tool.Section {
	one := tool.Section{Name: name}
	for _, s := range f {
		if s.Name == name {
			one.Settings = append(one.Settings, s.Settings...)
		}
	}
	return one
}

func (p *Profile) infiniband(s tool.Section) error {
	p.Address, p.Parent = strings.ToLower(s.Value("mac-address")), s.Value("parent")
	// NetworkManager sets datagram where a profile says nothing.
	p.Mode = ib.IPoIBMode(cmp.Or(s.Value("transport-mode"), ib.ModeDatagram.String()))
	var errs []error
	if v := s.Value("mtu"); v != "" && v != "auto" {
		var err error
		if p.MTU, err = strconv.Atoi(v); err != nil {
			errs = append(errs, fmt.Errorf("[infiniband] mtu=%s is not a number", v))
		}
	}
	// -1 is NetworkManager's "none".
	if v := s.Value("p-key"); v != "" && v != "-1" {
		key, keyErr := strconv.ParseUint(v, 0, 16)
		if keyErr != nil {
			errs = append(errs, fmt.Errorf("[infiniband] p-key=%s is not a P_Key", v))
		}
		p.PKey = uint16(key)
	}
	return errors.Join(errs...)
}

func (p *Profile) family(s tool.Section) error {
	switch s.Value("method") {
	case "auto":
		p.DHCP4 = p.DHCP4 || s.Name == "ipv4" // of IPv6 it is by router advertisements
		p.DHCP = p.DHCP || p.DHCP4
	case "dhcp":
		p.DHCP = true
	}
	for _, name := range s.Names() {
		if err := p.setting(name, s.Value(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// setting reads one line of a family. The older form of an address has the gateway
// behind it.
func (p *Profile) setting(key, value string) error {
	words := strings.Split(value, ",")
	switch strings.TrimRight(key, "0123456789") {
	case "address", "addresses":
		a, err := netip.ParsePrefix(words[0])
		if err != nil {
			return err
		}
		p.Addresses = append(p.Addresses, a)
		if len(words) > 1 {
			return p.route("", words[1])
		}
	case "gateway":
		return p.route("", value)
	case "route":
		if len(words) > 1 {
			return p.route(words[0], words[1])
		}
	}
	return nil
}

func (p *Profile) route(to, via string) error {
	r, err := ipconf.ParseRoute(to, via)
	if err != nil {
		return err
	}
	// The older form writes 0.0.0.0 where an address has no gateway.
	if !r.Via.IsUnspecified() {
		p.Routes = append(p.Routes, r)
	}
	return nil
}
