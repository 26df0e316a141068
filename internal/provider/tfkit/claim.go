package tfkit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
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
	// HostIn is the argument that says on which host it is, of resources that remove
	// something there when they leave it; empty for others.
	HostIn string
}

type claimKey struct{ kind, key string }

// claims are what the resources of one walk manage. The protocol does not tell a
// provider which resource it plans, and core plans one that is replaced twice:
// with its state, then without, and with one configuration. Two resources differ
// from that in what they ask for, in the order, or in how often core had the
// configuration validated, which is once for each resource of a walk.
type claims struct {
	made      map[claimKey][]Claim
	validated map[claimKey]int // by the text of the configuration
	machines  []machine
	names     map[string]string // of hosts: the first name of the same machine
}

// machine is a host under the first name that it was met by.
type machine struct {
	name string
	snap *inventory.Snapshot
}

func newClaims() claims {
	return claims{made: map[claimKey][]Claim{}, validated: map[claimKey]int{}, names: map[string]string{}}
}

// Claim remembers a claim. If another resource has made the same one, it is
// returned and taken is true.
func (p *Planned) Claim(c Claim) (other Claim, taken bool) {
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

// replaced reports whether the two claims, in this order, are of one resource
// that is planned to be replaced.
func (s *claims) replaced(first, then Claim) bool {
	return first.Exists && !then.Exists && first.Config.Equal(then.Config) &&
		s.validated[claimKey{then.Kind, then.Config.String()}] < 2
}

// Claimed returns a resource of the configuration that manages an object, if one
// was planned by this process: for operations that are made for a resource which
// is not in the configuration any more. It may be the other half of a replace.
func (p *Planned) Claimed(kind, key string) (Claim, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := p.claims.made[claimKey{kind, key}]
	if len(made) == 0 {
		return Claim{}, false
	}
	return made[0], true
}

// machine gives the first name under which the machine of a host was met.
func (p *Planned) machine(name string, snap *inventory.Snapshot) string {
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

// machineOf is the name of a host for comparisons: two names of one machine give
// the same. One that was not looked at yet is compared by its name: no host is
// asked for this alone.
func (d *Data) machineOf(host string) string {
	h, _, err := d.Host(host)
	if err != nil {
		return host
	}
	snap := h.Peek()
	if snap == nil {
		return host
	}
	return d.Planned.machine(host, snap)
}

// CardKey is the key of claims on a card: all functions of a card have one flash.
// Look at its host before.
func (d *Data) CardKey(ref CardRef) string { return d.machineOf(ref.Host) + "/" + ref.PCI.Slot() }

// FunctionKey is the key of claims on one PCI function of a card.
func (d *Data) FunctionKey(ref CardRef) string { return d.machineOf(ref.Host) + "/" + ref.PCI.String() }

// PortKey is the key of claims on a port, and on a P_Key child of it. Look at its
// host before.
func (d *Data) PortKey(ref PortRef) string {
	ref.Host = d.machineOf(ref.Host)
	return ref.String()
}

// ConfigValidators implements resource.ResourceWithConfigValidators. It counts
// the resources of a walk; while a configuration is only validated nothing is.
func (r *Resource) ConfigValidators(context.Context) []resource.ConfigValidator {
	if r.Data == nil || r.Kind == "" {
		return nil
	}
	return []resource.ConfigValidator{census{r}}
}

type census struct{ *Resource }

func (census) Description(context.Context) string {
	return "Counts the resources of the configuration."
}

func (c census) MarkdownDescription(ctx context.Context) string { return c.Description(ctx) }

func (c census) ValidateResource(_ context.Context, req resource.ValidateConfigRequest, _ *resource.ValidateConfigResponse) {
	p := c.Planned
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims.validated[claimKey{c.Kind, req.Config.Raw.String()}]++
}

// ClaimCard claims the card of a resource, whose id the configuration has in
// card_id. It reports whether the resource may be planned: not if another one of
// the kind has the card. what is verb and thing, "plan firmware of card".
func (r *Resource) ClaimCard(ctx context.Context, what string, id CardID, req resource.ModifyPlanRequest, diags *diag.Diagnostics) bool {
	ref, err := ParseCardRef(id.ValueString())
	if err != nil || id.IsUnknown() || !r.HostReady(types.StringValue(ref.Host)) {
		return true // it is claimed at apply, when it is known
	}
	if req.Config.Raw.IsFullyKnown() {
		if _, _, _, err := r.Look(ctx, ref.Host); err != nil {
			AddErrorAt(diags, path.Root("card_id"), what+" "+ref.String(), err)
			return false
		}
	}
	return r.Claim(ctx, what, Claim{Key: r.CardKey(ref), Name: ref.String()}, req, diags)
}

// Claim is ClaimCard for anything; c needs Key and Name.
func (r *Resource) Claim(ctx context.Context, what string, c Claim, req resource.ModifyPlanRequest, diags *diag.Diagnostics) bool {
	c.Kind, c.Config, c.Exists = r.Kind, req.Config.Raw, !req.State.Raw.IsNull()
	if c.HostIn != "" && !r.CanLeave(what+" "+c.Name, c.HostIn, req.State, hostOf(c.Name), diags) {
		return false
	}
	other, taken := r.Planned.Claim(c)
	if !taken {
		return true
	}
	differ := differing(c.Config, other.Config)
	finding := safety.Twice(c.Kind, c.Name, other.Name, differ)
	if c.Shared != "" && !slices.ContainsFunc(differ, func(d safety.Difference) bool { return d.Argument == c.Shared }) {
		finding = safety.Shared(c.Kind, c.Name, other.Name)
	}
	return !AddFindings(ctx, diags, what+" "+c.Name, []safety.Finding{finding})
}

func hostOf(id string) string {
	host, _, _ := strings.Cut(id, "/")
	return host
}

// differing lists the arguments in which two configurations differ.
func differing(a, b tftypes.Value) []safety.Difference {
	var one, two map[string]tftypes.Value
	if a.As(&one) != nil || b.As(&two) != nil {
		return nil
	}
	var out []safety.Difference
	for _, name := range slices.Sorted(maps.Keys(one)) {
		if !one[name].Equal(two[name]) {
			out = append(out, safety.Difference{Argument: name, One: literal(one[name]), Other: literal(two[name])})
		}
	}
	return out
}

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
