package adoption

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// The types of the resources that can be adopted.
const (
	cardType     = "infiniband_card"
	firmwareType = "infiniband_firmware"
	guidsType    = "infiniband_guids"
	linkType     = "infiniband_link_type"
	portType     = "infiniband_port"
	vfsType      = "infiniband_virtual_functions"
	smType       = "infiniband_opensm"
	ipoibType    = "infiniband_ipoib_interface"
)

// Object is one thing on a host that a resource may stand for.
type Object struct {
	Type string `json:"type"`
	Name string `json:"name"`
	ID   string `json:"id"`
	Host string `json:"host"`
	// Key is its key in a block that stands for several hosts.
	Key string `json:"key,omitempty"`
	// Reason is why it is not adopted; empty if it is.
	Reason *Problem `json:"reason,omitempty"`

	card     *Object  // its card; nil for a card and where none is known
	suffix   string   // part of its name, where the card has several of its type
	own      []string // arguments that differ among the objects of its block
	state    tftypes.Value
	attrs    map[string]tftypes.Value // of state
	private  []byte
	identity *tfprotov6.ResourceIdentityData
	form     int // which of its forms is tried
	consents form
	why      *Problem // what first spoke against it
	offer    form     // how it can be adopted if it may change; nil if it cannot
	taking   *Problem // what its plan changes with offer
	taken    bool     // offer is written
	waits    *wait    // what offer waits for before it can be applied; nil if it can
	dormant  bool     // an interface without an address, though somebody's file defines it
	warnings []Problem
	stored   bool // a port that this provider has set
	// otherwise says what a change by a plan would mean, where that of its kind does not hold.
	otherwise string
	beside    string // what else on the host sets it, one paragraph
	left      string // what becomes of it if other objects of its host are taken over
}

// Address is what a configuration calls the resource.
func (o *Object) Address() string {
	if o.Key != "" {
		return o.block() + "[" + Text(o.Key) + "]"
	}
	return o.block()
}

// block is what a configuration calls the block that the resource is written in.
func (o *Object) block() string { return o.Type + "." + o.Name }

// is gives an attribute of the state as text; empty if it is null or no text.
func (o *Object) is(name string) string { return textOf(o.attrs[name]) }

func ofPort(kind string, card *Object, ref attribute.PortRef, number int) *Object {
	o := &Object{Type: kind, Name: identifier(ref.Host), Host: ref.Host, ID: ref.String(), card: card,
		suffix: portSuffix(number)}
	if card != nil {
		o.Name = card.Name
	}
	if ref.PKey != "" {
		o.suffix += "_" + strings.TrimPrefix(ref.PKey, "0x")
	}
	return o
}

func portSuffix(number int) string { return "_port" + strconv.Itoa(number) }

// identifier makes a name of a resource from that of a host.
func identifier(host string) string {
	name := notInName.ReplaceAllString(host, "_")
	if !hclsyntax.ValidIdentifier(name) {
		return "host_" + name
	}
	return name
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// unique gives every object an address of its own.
func unique(all []*Object) {
	same := map[string]int{}
	for _, o := range all {
		same[o.Address()]++
	}
	taken := map[string]bool{}
	for _, o := range all {
		if same[o.Address()] > 1 {
			o.Name += o.suffix
		}
		base := o.Name
		for i := 2; taken[o.Address()]; i++ {
			o.Name = base + "_" + strconv.Itoa(i)
		}
		taken[o.Address()] = true
	}
}

// argument is one line of a resource: a value and, if it refers to another resource, where
// in this one the value is.
type argument struct {
	name  string
	value tftypes.Value
	to    *Object
	path  string
}

// expression is the argument as a block of the object has it.
func (a argument) expression(o *Object) string {
	switch {
	case a.to != nil && o.Key != "" && a.to.Key == o.Key:
		return a.to.block() + "[each.key]" + a.path
	case a.to != nil:
		return a.to.Address() + a.path
	case o.Key != "" && a.name == "host":
		return "each.key"
	case len(o.own) == 1 && a.name == o.own[0]:
		return "each.value"
	case slices.Contains(o.own, a.name):
		return "each.value." + a.name
	}
	return expression(a.value)
}

// form is one way to write a resource.
type form []argument

// kind says how resources of one type are written.
type kind struct {
	file string
	// forms are lists of arguments, the most readable one first. All but the last are
	// used only if the object has everything that they name.
	forms [][]string
	// usual are the values that need no line.
	usual map[string]string
	// otherwise says what a change by a plan would mean, where no finding says it.
	otherwise string
}

var kinds = map[string]kind{
	cardType: {file: "cards.tf", forms: [][]string{{"host", "pci_address"}}},
	firmwareType: {file: "cards.tf", forms: [][]string{{"card_id", "flash_psid", "flash_version"},
		{"card_id", "image_id"}}},
	guidsType: {file: "cards.tf", forms: [][]string{
		{"card_id", "base_mac"}, {"card_id", "base_guid", "base_mac"}, {"card_id", "base_guid"},
		{"card_id", "node_guid", "system_image_guid", "port_guids", "macs"},
	}, usual: map[string]string{"port_guids": "{}", "macs": "{}"}},
	linkType: {file: "cards.tf", forms: [][]string{{"card_id", "ports"}},
		otherwise: "No place that the driver reads keeps these types over a restart. An apply would store them."},
	portType: {file: "fabric.tf", forms: [][]string{
		{"card_id", "port", "enabled", "speeds", "widths"}, {"card_id", "port", "enabled", "speeds"},
		{"card_id", "port", "enabled", "widths"}, {"card_id", "port", "enabled"},
	}, usual: map[string]string{"enabled": "true"}},
	vfsType: {file: "cards.tf", forms: [][]string{{"card_id", "number"}}},
	smType: {file: "fabric.tf", forms: [][]string{{
		"host", "port_guid", "priority", "subnet_prefix", "routing_engine", "log_level", "log_max_size",
		"sminfo_polling_timeout", "polling_retry_number", "partitions",
	}}, usual: map[string]string{"priority": "0"},
		otherwise: "Somebody else set it up. An apply gives it a file of options of its own, enables it at boot, and " +
			"restarts it. Traffic goes on meanwhile; ports that come up wait."},
	ipoibType: {file: "network.tf", forms: [][]string{{
		"host", "port_guid", "pkey", "bond", "mode", "mtu", "addresses", "dhcp4", "routes",
	}}, usual: map[string]string{"mode": `"datagram"`, "routes": "[]"},
		otherwise: "No definition gives the interface these settings after a restart. An apply writes one."},
}

// forms are the ways to write an object that may be tried.
func (f *Lab) forms(o *Object) []form {
	var out []form
	names := kinds[o.Type].forms
	for i, list := range names {
		var args form
		whole := true
		for _, name := range list {
			v := o.attrs[name]
			if v.IsNull() {
				whole = false
				continue
			}
			if usual, has := kinds[o.Type].usual[name]; !has || expression(v) != usual {
				args = append(args, f.argument(o, name, v))
			}
		}
		if whole || i == len(names)-1 {
			out = append(out, args)
		}
	}
	return out
}

// argument refers to another resource where one has the value.
func (f *Lab) argument(o *Object, name string, v tftypes.Value) argument {
	a := argument{name: name, value: v}
	switch {
	case name == "card_id" && o.card != nil && o.card.adopted():
		a.value, a.to, a.path = o.card.attrs["id"], o.card, ".id"
	case name == "port_guid":
		a.to, a.path = f.portGUID(o, v)
	}
	return a
}

// portGUID is where a port GUID is: in the GUIDs of the card, else as the card shows it.
func (f *Lab) portGUID(o *Object, v tftypes.Value) (to *Object, path string) {
	if o.card == nil {
		return nil, ""
	}
	for _, other := range f.objects {
		if other.Type == guidsType && other.card == o.card && other.adopted() {
			if port := keyOf(other.attrs["port_guids"], v); port != "" {
				return other, fmt.Sprintf(".port_guids[%q]", port)
			}
		}
	}
	if !o.card.adopted() {
		return nil, ""
	}
	if port := keyOf(o.card.attrs["port_guids"], v); port != "" {
		return o.card, fmt.Sprintf(".port_guids[%q]", port)
	}
	return nil, ""
}

// keyOf finds a value in a map.
func keyOf(in, v tftypes.Value) string {
	var all map[string]tftypes.Value
	if in.IsNull() || in.As(&all) != nil {
		return ""
	}
	for key, value := range all {
		if value.Equal(v) {
			return key
		}
	}
	return ""
}

// adopted reports whether an object was imported and nothing speaks against it.
func (o *Object) adopted() bool { return o.attrs != nil && o.Reason == nil }

// worth reports whether an imported object is worth a resource. A card without flash
// has no firmware. A port or an interface that nobody has configured needs no resource.
func (o *Object) worth() bool {
	switch o.Type {
	case firmwareType:
		return o.is("flash_version") != ""
	case guidsType:
		return o.is("node_guid") != "" || len(expression(o.attrs["macs"])) > len("null")
	case linkType:
		return expression(o.attrs["ports"]) != "{}"
	case portType:
		return o.stored || expression(o.attrs["at_boot"]) == "true"
	case ipoibType:
		return o.dormant || expression(o.attrs["stored_in"]) != "[]" || expression(o.attrs["addresses"]) != "[]"
	}
	return true
}

// inOrder are the objects in the order of their dependencies.
func inOrder(all []*Object) []*Object {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b *Object) int { return slices.Index(order, a.Type) - slices.Index(order, b.Type) })
	return out
}

// Lab is the lab as it was found.
type Lab struct {
	Machines []*Machine

	first    *Walk // which imported the objects
	objects  []*Object
	pictures []string // of the fabrics, as Mermaid
	cablings []cabling
	undrawn  string // why there is none
}

// Machine is one host.
type Machine struct {
	Name  string   `json:"name"`
	Spec  string   `json:"host"`
	OS    string   `json:"os,omitempty"`
	Error *Problem `json:"error,omitempty"`

	snap *inventory.Snapshot
}

// Progress tells a person what is done now.
type Progress func(format string, args ...any)

func objects(f *Lab, is func(*Object) bool) (out []*Object) {
	for _, o := range f.objects {
		if is(o) {
			out = append(out, o)
		}
	}
	return out
}

// Problem is one diagnostic.
type Problem struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
}

// String is summary and detail.
func (p *Problem) String() string { return strings.TrimSpace(p.Summary + "\n\n" + p.Detail) }

// wait is what an object waits for before an apply of it can succeed.
type wait struct{ why, until, meanwhile string }

// order has the types of what can be adopted, in the order of their dependencies.
var order = []string{cardType, firmwareType, guidsType, linkType, vfsType, portType, smType, ipoibType}
