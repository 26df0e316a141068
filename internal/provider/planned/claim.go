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
