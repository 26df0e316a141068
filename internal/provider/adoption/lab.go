package adoption

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// NewLab is a lab of hosts that were read. One that failed does not stop the others.
func NewLab(machines []*Machine, progress Progress) *Lab {
	lab := &Lab{Machines: machines}
	lab.oncePerMachine()
	for _, m := range lab.Machines {
		if m.Error != nil {
			progress("%s: left out: %s", m.Name, m.Error.Summary)
			continue
		}
		here := candidates(m.Name, m.snap)
		progress("%s: %s, %s", m.Name, m.OS, count(len(m.snap.Cards), "card"))
		lab.objects = append(lab.objects, here...)
	}
	return lab
}

// NewMachine is a host with what was read on it, or with why it could not be read. spec
// is its name on a command line.
func NewMachine(name, spec string, snap *inventory.Snapshot, err error) *Machine {
	m := &Machine{Name: name, Spec: spec}
	if err != nil {
		m.fail("Unable to read host "+name, err)
		return m
	}
	m.snap, m.OS = snap, oneText(diagnostic.Visible(snap.OS.PrettyName))
	if _, err = platform.Of(snap); err != nil {
		m.fail("Unable to adopt host "+m.Name, err)
		return m
	}
	if len(snap.Cards) == 0 {
		m.Error = &Problem{Summary: "Unable to adopt host " + m.Name + ": it has no InfiniBand card",
			Detail: "The host answers, and lspci shows no InfiniBand card. Check that the card is seated."}
	}
	return m
}

func (m *Machine) fail(what string, err error) {
	m.Error = &Problem{Summary: diagnostic.Plain(what), Detail: diagnostic.Plain(diagnostic.Detail(err))}
}

// oncePerMachine leaves out a second name of a machine. Otherwise two resources would
// manage one card.
func (f *Lab) oncePerMachine() {
	for i, m := range f.Machines {
		for _, first := range f.Machines[:i] {
			if m.Error != nil || first.Error != nil || !inventory.SameMachine(first.snap, m.snap).Or(false) {
				continue
			}
			m.Error = &Problem{Summary: "Host " + m.Name + " is the same machine as " + first.Name,
				Detail: "Both names lead to one machine: machine id and card are equal. It is adopted as " + first.Name +
					". Name each machine once."}
		}
	}
}

// Up are the hosts that were read.
func (f *Lab) Up() []*Machine { return machines(f, func(m *Machine) bool { return m.Error == nil }) }

// FailedHosts are the hosts that are left out.
func (f *Lab) FailedHosts() []*Machine {
	return machines(f, func(m *Machine) bool { return m.Error != nil })
}

func machines(f *Lab, is func(*Machine) bool) (out []*Machine) {
	for _, m := range f.Machines {
		if is(m) {
			out = append(out, m)
		}
	}
	return out
}

// Adopted are the objects that a plan imports and does not change.
func (f *Lab) Adopted() []*Object { return objects(f, (*Object).adopted) }

// Refused are the objects that are there and are not adopted.
func (f *Lab) Refused() []*Object {
	return objects(f, func(o *Object) bool { return o.Reason != nil && !o.taken })
}

// TakenOver are the objects that the apply changes when it adopts them.
func (f *Lab) TakenOver() []*Object { return objects(f, func(o *Object) bool { return o.taken }) }

// Settle imports what was found and tries the ways to write it, until a plan of all of it
// changes nothing.
func (f *Lab) Settle(ctx context.Context, start Starter, progress Progress) error {
	first, err := start(ctx)
	if err != nil {
		return err
	}
	f.first = first
	progress("Asking what can be imported")
	if err = f.adoptAll(ctx, first); err != nil {
		return err
	}
	for again := true; again; {
		began := time.Now()
		var w *Walk
		if w, err = start(ctx); err != nil {
			return err
		}
		if again, err = f.planAll(ctx, w); err != nil {
			return err
		}
		progress("Planned %s in %s", count(len(f.Adopted()), "resource"), time.Since(began).Round(100*time.Millisecond))
	}
	f.gather(f.Adopted())
	return nil
}

// adoptAll imports every object. What is not there is forgotten.
func (f *Lab) adoptAll(ctx context.Context, w *Walk) error {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		fail error
	)
	for _, m := range f.Up() {
		all.Go(func() {
			for _, o := range f.objects {
				if o.Host != m.Name {
					continue
				}
				if err := o.take(ctx, w); err != nil {
					mu.Lock()
					fail = err
					mu.Unlock()
					return
				}
			}
		})
	}
	all.Wait()
	var there []*Object
	for _, o := range f.objects {
		if o.card != nil && o.card.Reason != nil {
			continue // the card's own reason says it
		}
		if o.there() {
			there = append(there, o)
		}
	}
	f.objects = there
	unique(there)
	return fail
}

// planAll plans everything that is adopted, as one configuration. An object that would
// change is written in another way the next time, or is not adopted. again reports
// whether a next time is needed.
func (f *Lab) planAll(ctx context.Context, w *Walk) (again bool, err error) {
	// All hosts are asked at the same time, which saves waiting for one after the other.
	if _, err = w.data(ctx, "infiniband_cards", map[string]any{"allow_unreachable": true}); err != nil {
		return false, err
	}
	for _, o := range inOrder(f.Adopted()) {
		given := slices.Concat(f.forms(o)[o.form], o.consents)
		change, all, failure := w.plan(ctx, o, given)
		if failure != nil {
			return false, failure
		}
		o.warnings = all.warnings
		if len(all.errors) > 0 || change.any || o.why != nil {
			again = true
			w.judge(o, given, len(f.forms(o)), change, all.errors)
		}
	}
	return again, nil
}

// judge decides what becomes of an object whose plan would change it. It is tried in
// its next form, or with the consents that the findings ask for. Else it is not
// adopted.
func (w *Walk) judge(o *Object, given form, forms int, change changes, errs []Problem) {
	if o.form+1 < forms {
		o.form++
		return
	}
	why := o.changed(change)
	if len(errs) > 0 {
		why = &errs[0]
	}
	if o.why == nil {
		o.why = why
	}
	if o.dormant { // a takeover would end settings that the file has and the interface does not show
		o.Reason = o.why
		return
	}
	if asked := w.consents(o.Type, errs); len(asked) > 0 && len(o.consents) == 0 {
		o.consents = asked
		return
	}
	o.Reason = o.why
	if len(o.consents) > 0 && len(errs) > 0 { // the consents do not help
		o.Reason = &errs[0]
	}
	if len(errs) == 0 && mayChange[o.Type] {
		o.offer, o.taking = given, why
		o.waitFor()
	}
}

// changed says that a plan changes an object, and what the plan warns of: there stands which
// files of somebody an apply takes the place of.
func (o *Object) changed(c changes) *Problem {
	why := &Problem{Summary: "Its plan would change what sets it up",
		Detail: cmp.Or(o.otherwise, kinds[o.Type].otherwise) + o.beside}
	if o.warns(finding.InitramfsOutdated) {
		why.Detail = "A place keeps these types, and the boot reads an older copy of it. An apply would make a new one."
	}
	switch {
	case len(c.told) > 0:
		why.Summary = "Its plan would change it: " + strings.Join(c.told, "; ")
	case len(o.warnings) > 0:
		why.Summary += ": " + o.warnings[0].Summary
	}
	for _, w := range o.warnings {
		evidence, _, _ := strings.Cut(w.Detail, "\n\n")
		why.Detail += "\n\n" + evidence
	}
	return why
}

// mayChange are the types whose objects may change when they are adopted, if the
// operator says so. They are settings of a host, never the content of a flash.
var mayChange = map[string]bool{smType: true, ipoibType: true, portType: true}

// Summary counts what an apply does.
func (f *Lab) Summary() string {
	text := "A plan imports " + count(len(f.Adopted())+len(f.TakenOver()), "resource")
	if n := len(f.TakenOver()); n > 0 {
		return text + " and changes " + strconv.Itoa(n) + " of them"
	}
	return text + " and changes nothing"
}

// TakeOver puts what can be adopted with a change among what is written.
func (f *Lab) TakeOver() {
	for _, o := range f.objects {
		if o.taken = o.offer != nil && o.waits == nil; o.taken {
			o.Reason = o.taking // the block has the consents that were missing
		}
	}
	f.gather(f.TakenOver())
}

// Draw asks for a picture and the cables of each fabric. It asks hosts with a subnet manager first,
// and no host that an earlier picture shows.
func (f *Lab) Draw(ctx context.Context) {
	var names []string
	for _, o := range f.objects {
		if o.Type == smType {
			names = append(names, o.Host)
		}
	}
	for _, m := range f.Up() {
		names = append(names, m.Name)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		fabric, err := f.first.data(ctx, "infiniband_fabric", map[string]any{"host": name})
		switch {
		case err == nil:
			for _, host := range f.drawn(name, fabric) {
				seen[host] = true
			}
		case f.undrawn == "":
			f.undrawn = err.Error()
		}
	}
}

// hostsOf are the hosts among the nodes of a fabric.
func hostsOf(nodes tftypes.Value) (hosts []string) {
	var all map[string]tftypes.Value
	if nodes.IsNull() || nodes.As(&all) != nil {
		return nil
	}
	for _, n := range all {
		var node map[string]tftypes.Value
		if n.As(&node) == nil {
			hosts = append(hosts, textOf(node["host"]))
		}
	}
	return hosts
}

// count is "1 card" or "2 cards".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
