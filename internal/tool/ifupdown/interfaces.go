// Package ifupdown writes and reads stanzas of /etc/network/interfaces for one
// IPoIB interface, and builds the commands of ifup and ifdown. ifupdown and
// ifupdown2 read the same files.
//
// It must not run anything.
package ifupdown

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/ipconf"
)

// Where the stanzas are. File names in the directory may hold letters, digits,
// "-" and "_" only (source-directory).
const (
	MainFile = "/etc/network/interfaces"
	Dir      = "/etc/network/interfaces.d"
)

// modeCommand sets the mode before the interface gets its MTU. ifupdown has no option
// for the mode, and ignores options that it does not know.
// echo, not printf: the kernel compares with the newline (ipoib_set_mode, 6.1 to 7.3).
const modeCommand = "echo %s > /sys/class/net/$IFACE/mode"

// raCommand keeps the kernel from taking addresses of router advertisements.
// Where IPv6 is switched off the file is missing, and a pre-up that fails keeps the interface down.
const raCommand = "[ ! -e /proc/sys/net/ipv6/conf/$IFACE/accept_ra ] || echo 0 > " +
	"/proc/sys/net/ipv6/conf/$IFACE/accept_ra"

// Render writes the stanzas of an interface. "auto" takes it up at boot,
// "allow-hotplug" when its module is loaded later. A P_Key child, whose name is
// PARENT.KEY, is made by ifup itself.
// A stanza has one address, and an interface may have several stanzas (ifupdown 0.8.41).
func Render(header string, i ipconf.Interface) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sauto %s\nallow-hotplug %s\n", header, i.Name, i.Name)
	v4, v6 := ipconf.Split(i.Addresses)
	if len(v4) == 0 {
		fmt.Fprintf(&b, "iface %s inet manual\n", i.Name)
	} else {
		fmt.Fprintf(&b, "iface %s inet static\n    address %s\n", i.Name, v4[0])
	}
	// ifup runs pre-up first, wherever it stands: in datagram mode the kernel refuses the MTU of connected.
	fmt.Fprintf(&b, "    mtu %d\n    pre-up %s\n    pre-up %s\n", i.MTU, fmt.Sprintf(modeCommand, i.Mode), raCommand)
	renderRoutes(&b, i.Routes, true)
	if len(v4) > 1 {
		for _, a := range v4[1:] {
			fmt.Fprintf(&b, "iface %s inet static\n    address %s\n", i.Name, a)
		}
	}
	for n, a := range v6 {
		fmt.Fprintf(&b, "iface %s inet6 static\n    address %s\n    accept_ra 0\n    autoconf 0\n", i.Name, a)
		if n == 0 {
			renderRoutes(&b, i.Routes, false)
		}
	}
	return b.String()
}

// "replace", because Up runs the lines again for an interface that has its routes. A route that
// somebody has taken away must not make ifdown fail.
func renderRoutes(b *strings.Builder, routes []ipconf.Route, v4 bool) {
	for _, r := range routes {
		if r.Via.Is4() == v4 {
			fmt.Fprintf(b, "    up ip route replace %s via %s dev $IFACE\n    down ip route del %s via %s dev $IFACE || true\n",
				r.To, r.Via, r.To, r.Via)
		}
	}
}

// Stanza is one "iface".
type Stanza struct {
	Name, Family, Method string
	Inherits             bool     // takes options of a template or of another stanza
	Options              []Option // in order
}

// Option is one line of a stanza.
type Option struct {
	Name, Value string
	Line        int
}

// File is a parsed interfaces file.
type File struct {
	Auto    []string // interfaces of auto and allow-…
	Stanzas []Stanza
	Sources []string // patterns of source and source-directory
	// ifup looks for a stanza of another name by these, see ByOtherName.
	Mapped []string // patterns of mapping
	// Mappings is true if lines belong to no single interface: a mapping, a rename, a
	// template.
	Mappings bool
}

// Parse reads an interfaces file. If some lines are not understood, it returns the rest
// together with the error.
func Parse(text string) (File, error) {
	r := reader{}
	var errs []error
	for n, line := range logicalLines(tool.WithoutMark(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		errs = append(errs, r.line(n, line, words))
	}
	r.end()
	return r.File, errors.Join(errs...)
}

type reader struct {
	File
	last *Stanza // whose options follow; nil outside of one
	name string  // "iface" if it is kept
}

// end closes the stanza before.
func (r *reader) end() {
	switch {
	case r.last == nil:
	case r.name == "iface":
		r.Stanzas = append(r.Stanzas, *r.last)
	default:
		r.Mappings = true
	}
	r.last = nil
}

func (r *reader) line(n int, line string, words []string) error {
	switch word := words[0]; {
	case word == "auto" || strings.HasPrefix(word, "allow-"):
		r.end()
		r.Auto = append(r.Auto, words[1:]...)
	case word == "iface" || word == "template":
		r.end()
		s, err := newStanza(n, line, words)
		r.last, r.name = &s, word
		return err
	case isSource(word):
		r.end()
		r.Sources = append(r.Sources, patterns(words)...)
	case word == "mapping" || word == "rename" || strings.HasPrefix(word, "no-"):
		r.beginUnnamed(words)
	case r.last == nil:
		return tool.Errorf(n, word, "an option outside of a stanza")
	case len(words) < 2:
		return tool.Errorf(n, line, "an option without a value")
	default:
		value := strings.TrimSpace(strings.TrimSpace(line)[len(word):])
		r.last.Options = append(r.last.Options, Option{word, value, n})
	}
	return nil
}

// beginUnnamed begins what has no interface of its own: its lines belong to none.
func (r *reader) beginUnnamed(words []string) {
	r.end()
	if words[0] == "mapping" {
		r.Mapped = append(r.Mapped, words[1:]...)
	}
	r.last, r.name = &Stanza{}, words[0]
}

func isSource(word string) bool {
	return word == "source" || word == "source-directory" || word == "source-dir"
}

// patterns are what a source line reads; a directory stands for its files.
func patterns(words []string) []string {
	all := slices.Clone(words[1:])
	if words[0] != "source" {
		for i := range all {
			all[i] = strings.TrimSuffix(all[i], "/") + "/*"
		}
	}
	return all
}

func newStanza(n int, line string, words []string) (Stanza, error) {
	s := Stanza{Family: "inet", Method: "static"}
	if len(words) < 2 {
		return s, tool.Errorf(n, line, "a stanza without a name")
	}
	s.Name = words[1]
	s.Inherits = slices.Contains(words[2:], "inherits")
	if len(words) >= 4 && words[2] != "inherits" {
		s.Family, s.Method = words[2], words[3]
	}
	return s, nil
}

// logicalLines yields the lines of a file, continued ones as one.
func logicalLines(text string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		whole, first := "", 0
		for n, line := range tool.Lines(text) {
			if whole == "" {
				first = n
			}
			if rest, ok := strings.CutSuffix(line, "\\"); ok {
				// ifupdown joins the lines as they are; a blank keeps apart what people have indented.
				whole += rest + " "
				continue
			}
			if !yield(first, whole+line) {
				return
			}
			whole = ""
		}
	}
}

// Reads reports whether a source line of the file reads the file at p.
func (f File) Reads(p string) bool {
	return slices.ContainsFunc(f.Sources, func(pattern string) bool {
		if !path.IsAbs(pattern) {
			pattern = path.Join(path.Dir(MainFile), pattern)
		}
		ok, err := path.Match(pattern, p)
		return ok && err == nil
	})
}

// Names are the interfaces of the stanzas, each once.
func (f File) Names() []string {
	var all []string
	for _, s := range f.Stanzas {
		if !slices.Contains(all, s.Name) {
			all = append(all, s.Name)
		}
	}
	return all
}

var (
	modeLine = regexp.MustCompile(`^echo ["']?(datagram|connected)["']? ?> ?"?/sys/class/net/([^\s/"']+)/mode"?` +
		`(?: \|\| (?:true|:))?$`)
	// moduleLine does what the provider has the boot do.
	moduleLine = regexp.MustCompile(`^(?:/usr)?(?:/sbin/)?modprobe (?:-q )?ib_ipoib(?: \|\| (?:true|:))?$`)
	routeLine  = regexp.MustCompile(`^ip (?:-[46] )?route (?:add|replace) (\S+) via (\S+)`)
	routeOnly  = regexp.MustCompile(routeLine.String() + `(?: dev \S+)?(?: \|\| true)?$`)
	routeDown  = regexp.MustCompile(`^ip (?:-[46] )?route del \S+(?: via \S+)?(?: dev \S+)?(?: \|\| true)?$`)
)

// modeOf is the mode that a command gives to the interface of its stanza; empty if it gives none, or to another one.
func modeOf(name, command string) ib.IPoIBMode {
	m := modeLine.FindStringSubmatch(command)
	if m == nil || !slices.Contains([]string{"$IFACE", "${IFACE}", name}, m[2]) {
		return ""
	}
	return ib.IPoIBMode(m[1])
}

// Interface joins what the stanzas of one interface say.
func (f File) Interface(name string) (ipconf.Interface, error) {
	i := ipconf.Interface{Name: name}
	for _, s := range f.Stanzas {
		if s.Name != name {
			continue
		}
		// "auto" of inet6 are router advertisements, and a lease if they say so.
		if s.Method == "dhcp" || s.Method == "auto" {
			i.DHCP = true
		}
		if err := s.add(&i); err != nil {
			return i, fmt.Errorf("iface %s %s: %w", s.Name, s.Family, err)
		}
	}
	return i, nil
}

func (s Stanza) option(name string) string {
	for _, o := range s.Options {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

func (s Stanza) add(i *ipconf.Interface) error {
	for _, o := range s.Options {
		switch o.Name {
		case "address":
			a, err := s.address(o.Value)
			if err != nil {
				return err
			}
			i.Addresses = append(i.Addresses, a)
		case "mtu":
			mtu, err := strconv.Atoi(o.Value)
			if err != nil {
				return fmt.Errorf("mtu %s is not a number", o.Value)
			}
			i.MTU = mtu
		case "gateway":
			if err := addRoute(i, "", o.Value); err != nil {
				return err
			}
		case "pre-up", "up", "post-up":
			command := inOneLine(o.Value)
			if mode := modeOf(s.Name, command); mode != "" {
				i.Mode = mode
			}
			if m := routeLine.FindStringSubmatch(command); m != nil {
				if err := addRoute(i, m[1], m[2]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Unkept names the options of an interface's stanzas that Interface does not hold and
// Render does not write, with the lines of each. It leaves out their values: one may be a password.
func (f File) Unkept(name string) (all []string, lines map[string][]int) {
	lines = map[string][]int{}
	for _, s := range f.Stanzas {
		for _, o := range s.Options {
			if s.Name != name || isHeld(name, o.Name, o.Value) {
				continue
			}
			if lines[o.Name] == nil {
				all = append(all, o.Name)
			}
			lines[o.Name] = append(lines[o.Name], o.Line)
		}
	}
	return all, lines
}

// inOneLine is a command with single blanks: one that goes on in the next line has more.
func inOneLine(command string) string { return strings.Join(strings.Fields(command), " ") }

// isHeld is about an option of a stanza for an interface by a name.
func isHeld(name, option, value string) bool {
	value = inOneLine(value)
	switch option {
	case "address", "netmask", "mtu", "gateway", "network", "broadcast":
		return true
	case "accept_ra", "autoconf":
		return value == "0"
	case "pre-up", "up", "post-up":
		return modeOf(name, value) != "" || moduleLine.MatchString(value) || routeOnly.MatchString(value) ||
			value == raCommand
	case "down", "pre-down", "post-down":
		return routeDown.MatchString(value)
	}
	return false
}

func addRoute(i *ipconf.Interface, to, via string) error {
	r, err := ipconf.ParseRoute(to, via)
	if err == nil {
		i.Routes = append(i.Routes, r)
	}
	return err
}

func (s Stanza) address(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	mask := s.option("netmask")
	if a.Is6() {
		bits, bad := strconv.Atoi(mask)
		if bad != nil {
			bits = 64 // what ifupdown takes
		}
		return netip.PrefixFrom(a, bits), nil
	}
	bits, err := ipconf.MaskBits(mask, a)
	if err != nil {
		return netip.Prefix{}, err
	}
	p := netip.PrefixFrom(a, bits)
	if !p.IsValid() {
		return p, fmt.Errorf("netmask %q does not fit %s", mask, a)
	}
	return p, nil
}
