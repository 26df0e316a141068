package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim/vfs"
)

// plan is the merged netplan configuration.
type plan struct {
	renderer string
	ids      []string // in order of appearance
	ifaces   map[string]*planIface
}

type planIface struct {
	id, renderer  string
	addresses     []string
	mtu           int
	mode          string
	linkLocal     []string
	linkLocalSet  bool
	optional      bool
	required      bool // the version of netplan does not tell networkd
	dhcp4         bool
	clientID      string
	overrides     map[string]bool // of dhcp4-overrides
	routes        [][2]string     // destination and gateway
	ignoreCarrier bool
	noRA          bool
	matchMA       string
}

// planError is a complaint about one place of a file, printed as netplan 1.x does.
type planError struct {
	file      string
	line, col int
	msg       string
	source    string
}

func (e *planError) Error() string {
	return fmt.Sprintf("%s:%d:%d: Error in network definition: %s\n%s\n%s^", e.file, e.line, e.col, e.msg,
		e.source, strings.Repeat(" ", max(e.col-1, 0)))
}

// syntaxError is one that the YAML parser finds.
type syntaxError struct{ text string }

func (e *syntaxError) Error() string { return e.text }

// planReader reads one file into a plan.
type planReader struct {
	s      *State
	plan   *plan
	file   string
	source []string
}

// readPlan reads all files of DIR/etc/netplan and DIR/run/netplan, in order of
// their base names; warn gets the files that others may read.
func (s *State) readPlan(root string, warn func(file string)) (*plan, error) {
	out := &plan{renderer: "networkd", ifaces: map[string]*planIface{}}
	for _, file := range s.m.FS.Overlay(root+"/etc/netplan/*.yaml", root+"/run/netplan/*.yaml") {
		if info, err := s.m.FS.Stat(vfs.Root, file, true); err == nil && info.Mode().Perm()&0o077 != 0 {
			warn(file)
		}
		data, err := s.m.FS.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := &planReader{s: s, plan: out, file: file, source: strings.Split(string(data), "\n")}
		if err := r.read(data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *planReader) read(data []byte) error {
	for i, line := range r.source {
		body := strings.TrimLeft(line, " ")
		if strings.HasPrefix(body, "\t") {
			return &syntaxError{fmt.Sprintf("%s:%d:%d: Invalid YAML: tabs are not allowed for indent:\n%s\n%s^",
				r.file, i+1, len(line)-len(body)+1, line, strings.Repeat(" ", len(line)-len(body)))}
		}
	}
	doc, err := parser.ParseBytes(data, 0)
	if err != nil {
		return &syntaxError{r.file + ": Invalid YAML: " + strings.SplitN(err.Error(), "\n", 2)[0]}
	}
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		if err := r.each(d.Body, map[string]func(*ast.MappingValueNode) error{"network": r.network}); err != nil {
			return err
		}
	}
	return nil
}

func (r *planReader) fail(n ast.Node, format string, args ...any) error {
	e := &planError{file: r.file, msg: fmt.Sprintf(format, args...)}
	if t := n.GetToken(); t != nil && t.Position != nil {
		e.line, e.col = t.Position.Line, t.Position.Column
		if e.line <= len(r.source) {
			e.source = r.source[e.line-1]
		}
	}
	return e
}

// entries lists the pairs of a mapping; a single pair is a node of its own kind.
func entries(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch t := n.(type) {
	case *ast.MappingNode:
		return t.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{t}, true
	case *ast.NullNode:
		return nil, true
	}
	return nil, false
}

// otherKeys are keys of netplan that the lab does not simulate.
var otherKeys = strings.Fields(`nameservers set-name gateway4 activation-mode critical wakeonlan name driver metric on-link
macaddress dhcp6-overrides gateway6 auth emit-lldp neigh-suppress ipv6-privacy
ipv6-address-generation ipv6-address-token ipv6-mtu ra-overrides optional-addresses routing-policy openvswitch
networkmanager link embedded-switch-mode virtual-function-count delay-virtual-functions-rebind
receive-checksum-offload transmit-checksum-offload tcp-segmentation-offload tcp6-segmentation-offload
generic-segmentation-offload generic-receive-offload large-receive-offload from type scope table mtu
congestion-window advertised-receive-window advertised-mss hairpin bridges vlans bonds wifis modems tunnels
vrfs dummy-devices virtual-ethernets nm-devices`)

func (r *planReader) each(n ast.Node, keys map[string]func(*ast.MappingValueNode) error) error {
	list, ok := entries(n)
	if !ok {
		return r.fail(n, "expected mapping (check indentation)")
	}
	for _, kv := range list {
		handle, ok := keys[text(kv.Key)]
		switch {
		case ok:
		case slices.Contains(otherKeys, text(kv.Key)):
			r.s.m.Violate("netplan key %s is not simulated", text(kv.Key))
			continue
		default:
			return r.fail(kv.Key, "unknown key '%s'", text(kv.Key))
		}
		if err := handle(kv); err != nil {
			return err
		}
	}
	return nil
}

// text is a scalar as written, without its quotes.
func text(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

func (r *planReader) list(kv *ast.MappingValueNode) ([]ast.Node, error) {
	switch t := kv.Value.(type) {
	case *ast.SequenceNode:
		return t.Values, nil
	case *ast.NullNode:
		return nil, nil
	}
	return nil, r.fail(kv.Value, "expected sequence")
}

func (r *planReader) network(kv *ast.MappingValueNode) error {
	return r.each(kv.Value, map[string]func(*ast.MappingValueNode) error{
		"version": func(kv *ast.MappingValueNode) error {
			if text(kv.Value) != "2" {
				return r.fail(kv.Value, "Only version 2 is supported")
			}
			return nil
		},
		"renderer": func(kv *ast.MappingValueNode) error { return r.renderer(kv, &r.plan.renderer) },
		"ethernets": func(kv *ast.MappingValueNode) error {
			list, ok := entries(kv.Value)
			if !ok {
				return r.fail(kv.Value, "expected mapping (check indentation)")
			}
			for _, e := range list {
				if err := r.ethernet(text(e.Key), e.Value); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (r *planReader) renderer(kv *ast.MappingValueNode, into *string) error {
	v := text(kv.Value)
	if v != "networkd" && v != "NetworkManager" {
		return r.fail(kv.Value, "unknown renderer '%s'", v)
	}
	if v == "NetworkManager" && r.s.m.Config.Stack != labsim.StackNetplanNM {
		r.s.m.Violate("netplan renderer %s is not simulated on this host", v)
	}
	*into = v
	return nil
}

func (r *planReader) ethernet(id string, n ast.Node) error {
	i := r.plan.ifaces[id]
	if i == nil {
		i = &planIface{id: id}
		r.plan.ifaces[id] = i
		r.plan.ids = append(r.plan.ids, id)
	}
	flag := func(into *bool) func(*ast.MappingValueNode) error {
		return func(kv *ast.MappingValueNode) error { return r.boolean(kv.Value, into) }
	}
	return r.each(n, map[string]func(*ast.MappingValueNode) error{
		"addresses": func(kv *ast.MappingValueNode) error { return r.addresses(kv, i) },
		"mtu":       func(kv *ast.MappingValueNode) error { return r.number(kv.Value, &i.mtu) },
		"infiniband-mode": func(kv *ast.MappingValueNode) error {
			i.mode = text(kv.Value)
			if i.mode != "datagram" && i.mode != "connected" {
				return r.fail(kv.Value, "Value of 'infiniband-mode' needs to be 'datagram' or 'connected'")
			}
			return nil
		},
		"link-local": func(kv *ast.MappingValueNode) error {
			list, err := r.list(kv)
			i.linkLocalSet, i.linkLocal = true, nil
			for _, e := range list {
				i.linkLocal = append(i.linkLocal, text(e))
			}
			return err
		},
		"match":    func(kv *ast.MappingValueNode) error { return r.match(kv.Value, i) },
		"routes":   func(kv *ast.MappingValueNode) error { return r.routes(kv, i) },
		"renderer": func(kv *ast.MappingValueNode) error { return r.renderer(kv, &i.renderer) },
		"optional": flag(&i.optional), "dhcp4": flag(&i.dhcp4), "ignore-carrier": flag(&i.ignoreCarrier),
		"dhcp-identifier": func(kv *ast.MappingValueNode) error { return r.clientID(kv.Value, i) },
		"dhcp4-overrides": func(kv *ast.MappingValueNode) error { return r.overrides(kv.Value, i) },
		"dhcp6": func(kv *ast.MappingValueNode) error {
			on := false
			if err := r.boolean(kv.Value, &on); err != nil || !on {
				return err
			}
			r.s.m.Violate("netplan's dhcp6 is not simulated")
			return nil
		},
		"accept-ra": func(kv *ast.MappingValueNode) error {
			var on bool
			err := r.boolean(kv.Value, &on)
			i.noRA = !on
			return err
		},
	})
}

func (r *planReader) clientID(n ast.Node, i *planIface) error {
	if i.clientID = text(n); i.clientID != "duid" && i.clientID != "mac" {
		return r.fail(n, "invalid DHCP client identifier type '%s'", i.clientID)
	}
	return nil
}

// overrides reads what of a lease is not used.
func (r *planReader) overrides(n ast.Node, i *planIface) error {
	i.overrides = map[string]bool{}
	keys := map[string]func(*ast.MappingValueNode) error{}
	for _, key := range []string{"use-dns", "use-ntp", "use-hostname", "use-routes", "use-mtu"} {
		keys[key] = func(kv *ast.MappingValueNode) error {
			var on bool
			err := r.boolean(kv.Value, &on)
			i.overrides[key] = on
			return err
		}
	}
	return r.each(n, keys)
}

func (r *planReader) boolean(n ast.Node, into *bool) error {
	switch strings.ToLower(text(n)) {
	case "true", "yes", "on", "y":
		*into = true
	case "false", "no", "off", "n":
		*into = false
	default:
		return r.fail(n, "invalid boolean value '%s'", text(n))
	}
	return nil
}

func (r *planReader) number(n ast.Node, into *int) error {
	v, err := strconv.ParseUint(text(n), 0, 31)
	if err != nil {
		return r.fail(n, "invalid unsigned int value '%s'", text(n))
	}
	*into = int(v)
	return nil
}

func (r *planReader) addresses(kv *ast.MappingValueNode, i *planIface) error {
	list, err := r.list(kv)
	if err != nil {
		return err
	}
	for _, e := range list {
		v := text(e)
		addr, bits, ok := strings.Cut(v, "/")
		if !ok {
			return r.fail(kv.Value, "address '%s' is missing /prefixlength", v)
		}
		if _, err := netip.ParseAddr(addr); err != nil {
			return r.fail(e, "malformed address '%s', must be X.X.X.X/NN or X:X:X:X:X:X:X:X/NN", v)
		}
		if _, err := netip.ParsePrefix(v); err != nil {
			return r.fail(e, "invalid prefix length in address '%s'", addr+"/"+bits)
		}
		i.addresses = append(i.addresses, v)
	}
	return nil
}

func (r *planReader) match(n ast.Node, i *planIface) error {
	return r.each(n, map[string]func(*ast.MappingValueNode) error{
		"macaddress": func(kv *ast.MappingValueNode) error {
			i.matchMA = text(kv.Value)
			if n := strings.Count(i.matchMA, ":") + 1; n != 6 && n != 20 {
				ten := strings.TrimSuffix(strings.Repeat("XX:", 20), ":")
				return r.fail(kv.Value, "Invalid MAC address '%s', must be XX:XX:XX:XX:XX:XX or %s", i.matchMA, ten)
			}
			return nil
		},
	})
}

func (r *planReader) routes(kv *ast.MappingValueNode, i *planIface) error {
	list, err := r.list(kv)
	if err != nil {
		return err
	}
	for _, e := range list {
		to, via := "", ""
		err := r.each(e, map[string]func(*ast.MappingValueNode) error{
			"to":  func(kv *ast.MappingValueNode) error { to = text(kv.Value); return nil },
			"via": func(kv *ast.MappingValueNode) error { via = text(kv.Value); return nil },
		})
		if err != nil {
			return err
		}
		i.routes = append(i.routes, [2]string{to, via})
	}
	return nil
}
