package planned

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// Claim says that a resource of the configuration manages an object, such as the
// flash of a card or a port.
type Claim struct {
	Kind string // type of the resource, "infiniband_firmware"
	Key  string // the object; equal under all names and spellings of it, see CardKey
	Name string // how the resource names it, "nas/0000:01:00.0"
	// Config is the configuration of the resource.
	Config tftypes.Value
	// Exists is true if the resource is in the state.
	Exists bool
	// Shared is the argument that resources of one object must agree on where there
	// may be more than one; empty where there may not.
	Shared string
	// HostIn is the argument with the host, for resources that remove something from the
	// old host when they move; empty for others.
	HostIn string
}

type claimKey struct{ kind, key string }

// claims are what the resources of one walk manage. The protocol does not tell a
// provider which resource it plans, and core plans a replaced one twice: with its
// state, then without, and with one configuration. Two resources are told from that by
// what they ask for, by the order, and by the count of validations: core validates each
// resource once in a walk.
type claims struct {
	made      map[claimKey][]Claim
	validated map[claimKey]int // by the text of the configuration
	machines  []machine
	names     map[string]string // of hosts: the first name of the same machine
	told      map[string]bool   // names of hosts of which SecondName has told
}

// machine is the first name under which a machine was met.
type machine struct {
	name string
	snap *inventory.Snapshot
}

func newClaims() claims {
	return claims{made: map[claimKey][]Claim{}, validated: map[claimKey]int{}, names: map[string]string{},
		told: map[string]bool{}}
}

// Claim remembers a claim. If another resource has made the same one, it is
// returned and taken is true.
func (p *Walk) Claim(c Claim) (other Claim, taken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := claimKey{c.Kind, c.Key}
	for _, o := range p.claims.made[k] {
		if !p.claims.replaced(o, c) {
			other, taken = o, true
			break
		}
	}
	p.claims.made[k] = append(p.claims.made[k], c)
	return other, taken
}

// Claimed reports whether a resource of a type that was planned so far manages an object.
func (p *Walk) Claimed(kind, key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.claims.made[claimKey{kind, key}]) > 0
}

// replaced reports whether the two claims, in this order, are of one resource
// that is planned to be replaced.
func (s *claims) replaced(first, then Claim) bool {
	return first.Exists && !then.Exists && first.Config.Equal(then.Config) &&
		s.validated[claimKey{then.Kind, then.Config.String()}] < 2
}

// CountResource counts a resource of the configuration.
func (p *Walk) CountResource(kind string, config tftypes.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims.validated[claimKey{kind, config.String()}]++
}

// Machine gives the first name under which the machine of a host was met.
func (p *Walk) Machine(name string, snap *inventory.Snapshot) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if first, ok := p.claims.names[name]; ok {
		return first
	}
	first := name
	for _, m := range p.claims.machines {
		if fact.Yes(inventory.SameMachine(m.snap, snap)) {
			first = m.name
			break
		}
	}
	if first == name {
		p.claims.machines = append(p.claims.machines, machine{name, snap})
	}
	p.claims.names[name] = first
	return first
}

// SecondName gives the first name of the machine of a host that goes by another one now, once for each name.
func (p *Walk) SecondName(name string) (first string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, met := p.claims.names[name]
	if !met || first == name || p.claims.told[name] {
		return "", false
	}
	p.claims.told[name] = true
	return first, true
}

// Met is Machine for a host that was met already.
func (p *Walk) Met(name string) (machine string, met bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	machine, met = p.claims.names[name]
	return machine, met
}

// Differs lists the arguments in which the configurations of two claims differ.
func (c Claim) Differs(other Claim) []clash.Difference {
	var one, two map[string]tftypes.Value
	if c.Config.As(&one) != nil || other.Config.As(&two) != nil {
		return nil
	}
	var out []clash.Difference
	for _, name := range slices.Sorted(maps.Keys(one)) {
		if !one[name].Equal(two[name]) {
			out = append(out, clash.Difference{Argument: name, One: literal(one[name]), Other: literal(two[name])})
		}
	}
	return out
}

// longest is how much of a text is shown. The picture of a fabric is longer.
const longest = 200

// literal shows a value as a configuration has it.
func literal(v tftypes.Value) string {
	switch {
	case v.IsNull():
		return "not set"
	case !v.IsKnown():
		return "not known yet"
	}
	typ := v.Type()
	switch {
	case typ.Is(tftypes.String):
		var s string
		_ = v.As(&s) // the type says that it is one
		if len(s) > longest {
			return fmt.Sprintf("a text of %d bytes", len(s))
		}
		return fmt.Sprintf("%q", s)
	case typ.Is(tftypes.Map{}), typ.Is(tftypes.Object{}):
		var m map[string]tftypes.Value
		_ = v.As(&m)
		parts := make([]string, 0, len(m))
		for _, key := range slices.Sorted(maps.Keys(m)) {
			parts = append(parts, key+" = "+literal(m[key]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case typ.Is(tftypes.List{}), typ.Is(tftypes.Set{}), typ.Is(tftypes.Tuple{}):
		var l []tftypes.Value
		_ = v.As(&l)
		parts := make([]string, len(l))
		for i, e := range l {
			parts[i] = literal(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return scalar(v)
}

func scalar(v tftypes.Value) string {
	text := v.String() // tftypes.Number<"65520">
	_, rest, _ := strings.Cut(text, `<"`)
	return cmp.Or(strings.TrimSuffix(rest, `">`), text)
}
