package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ibfabric/terraform-provider-infiniband/internal/command/target"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// found is the lab as it was found.
type found struct {
	options  target.Options
	machines []*machine
	objects  []*object
	pictures []string // of the fabrics, as Mermaid
	undrawn  string   // why there is none
}

// machine is one host of the command line.
type machine struct {
	Name  string   `json:"name"`
	Spec  string   `json:"host"`
	OS    string   `json:"os,omitempty"`
	Error *problem `json:"error,omitempty"`

	target *target.Target
	snap   *inventory.Snapshot
}

// read looks at all hosts at the same time. One that fails does not stop the others.
func (o *order) read(ctx context.Context, targets []*target.Target) *found {
	lab := &found{options: o.Options}
	lab.machines = slices.Collect(target.Each(targets, len(targets), func(t *target.Target) *machine {
		m := &machine{Name: t.Name, Spec: t.Spec, target: t}
		m.look(ctx)
		return m
	}))
	lab.oncePerMachine()
	for _, m := range lab.machines {
		if m.Error != nil {
			o.progress("%s: left out: %s", m.Name, m.Error.Summary)
			continue
		}
		here := candidates(m.Name, m.snap)
		o.progress("%s: %s, %s", m.Name, m.OS, count(len(m.snap.Cards), "card"))
		lab.objects = append(lab.objects, here...)
	}
	return lab
}

// look reads a host.
func (m *machine) look(ctx context.Context) {
	if m.target.Err != nil {
		m.fail("Unable to read host "+m.Name, m.target.Err)
		return
	}
	snap, err := m.target.Host.Snapshot(ctx)
	if err != nil {
		m.fail("Unable to read host "+m.Name, err)
		var sudo *host.PrivilegeError
		if errors.As(err, &sudo) {
			m.Error.Detail += "\n\nThis command takes the password by -ask-sudo-password, -sudo-password-file FILE, or from " +
				string(sshhost.EnvSudoPassword) + "."
		}
		return
	}
	m.snap, m.OS = snap, oneText(diagnostic.Visible(snap.OS.PrettyName))
	if _, err = platform.Of(snap); err != nil {
		m.fail("Unable to adopt host "+m.Name, err)
		return
	}
	if len(snap.Cards) == 0 {
		m.Error = &problem{Summary: "Unable to adopt host " + m.Name + ": it has no InfiniBand card",
			Detail: "The host answers, and lspci shows no InfiniBand card. Check that the card is seated."}
	}
}

func (m *machine) fail(what string, err error) {
	m.Error = &problem{Summary: diagnostic.Plain(what), Detail: diagnostic.Plain(diagnostic.Detail(err))}
}

// oncePerMachine leaves out a second name of a machine. Otherwise two resources would
// manage one card.
func (f *found) oncePerMachine() {
	for i, m := range f.machines {
		for _, first := range f.machines[:i] {
			if m.Error != nil || first.Error != nil || !inventory.SameMachine(first.snap, m.snap).Or(false) {
				continue
			}
			m.Error = &problem{Summary: "Host " + m.Name + " is the same machine as " + first.Name,
				Detail: "Both names lead to one machine: machine id and card are equal. It is adopted as " + first.Name +
					". Name each machine once."}
		}
	}
}

func (f *found) up() []*machine { return machines(f, func(m *machine) bool { return m.Error == nil }) }
func (f *found) failedHosts() []*machine {
	return machines(f, func(m *machine) bool { return m.Error != nil })
}

func machines(f *found, is func(*machine) bool) (out []*machine) {
	for _, m := range f.machines {
		if is(m) {
			out = append(out, m)
		}
	}
	return out
}

func (f *found) adoptedObjects() []*object { return objects(f, (*object).adopted) }

// refusedObjects are the objects that are there and are not adopted.
func (f *found) refusedObjects() []*object {
	return objects(f, func(o *object) bool { return o.Reason != nil && !o.taken })
}

// takenOver are the objects that the apply changes when it adopts them.
func (f *found) takenOver() []*object { return objects(f, func(o *object) bool { return o.taken }) }

func objects(f *found, is func(*object) bool) (out []*object) {
	for _, o := range f.objects {
		if is(o) {
			out = append(out, o)
		}
	}
	return out
}

// adoptAll imports every object. What is not there is forgotten.
func (f *found) adoptAll(ctx context.Context, w *walk) error {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		fail error
	)
	for _, m := range f.up() {
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
	var there []*object
	for _, o := range f.objects {
		if o.card != nil && o.card.Reason != nil {
			continue // the card's own reason says it
		}
		if o.Reason != nil || o.attrs != nil && o.worth() {
			there = append(there, o)
		}
	}
	f.objects = there
	unique(there)
	return fail
}

func (o *object) take(ctx context.Context, w *walk) error {
	all, err := w.adopt(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case len(all.errors) > 0:
		o.Reason = &all.errors[0]
	case o.attrs != nil && !o.worth() && len(all.warnings) > 0: // it could not be read
		o.Reason = &all.warnings[0]
		o.Reason.Detail = strings.Replace(o.Reason.Detail, "The state keeps the values that were read last. ", "", 1)
	}
	return nil
}

// planAll plans everything that is adopted, as one configuration. An object that would
// change is written in another way the next time, or is not adopted. again reports
// whether a next time is needed.
func (f *found) planAll(ctx context.Context, w *walk) (again bool, err error) {
	// All hosts are asked at the same time, which saves waiting for one after the other.
	if _, err = w.data(ctx, "infiniband_cards", map[string]any{"allow_unreachable": true}); err != nil {
		return false, err
	}
	for _, o := range inOrder(f.adoptedObjects()) {
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
func (w *walk) judge(o *object, given form, forms int, change changes, errs []problem) {
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
	if len(errs) == 0 && mayChange[o.Type] {
		o.offer = given
	}
}

// changed says that a plan changes an object, and what the plan warns of: there stands which
// files of somebody an apply takes the place of.
func (o *object) changed(c changes) *problem {
	why := &problem{Summary: "Its plan would change what sets it up", Detail: kinds[o.Type].otherwise}
	if len(c.told) > 0 {
		why.Summary = "Its plan would change it: " + strings.Join(c.told, "; ")
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

// summary counts what an apply does.
func (f *found) summary() string {
	text := "A plan imports " + count(len(f.adoptedObjects())+len(f.takenOver()), "resource")
	if n := len(f.takenOver()); n > 0 {
		return text + " and changes " + strconv.Itoa(n) + " of them"
	}
	return text + " and changes nothing"
}

// takeOver puts what can be adopted with a change among what is written.
func (f *found) takeOver() {
	for _, o := range f.objects {
		o.taken = o.offer != nil
	}
}

// draw asks for a picture of each fabric. It asks hosts with a subnet manager first,
// and no host that an earlier picture shows.
func (f *found) draw(ctx context.Context, w *walk) {
	var names []string
	for _, o := range f.objects {
		if o.Type == smType {
			names = append(names, o.Host)
		}
	}
	for _, m := range f.up() {
		names = append(names, m.Name)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		fabric, err := w.data(ctx, "infiniband_fabric", map[string]any{"host": name})
		switch {
		case err == nil:
			f.pictures = append(f.pictures, textOf(fabric["mermaid"]))
			for _, host := range hostsOf(fabric["nodes"]) {
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

// result is what scripts get.
type result struct {
	Hosts      []*machine `json:"hosts"`
	Adopted    []*object  `json:"adopted"`
	TakenOver  []*object  `json:"taken_over"`
	NotAdopted []*object  `json:"not_adopted"`
	Files      []string   `json:"files"`
	Error      string     `json:"error,omitempty"`
}

func (f *found) result(written []string) *result {
	return &result{Hosts: f.machines, Adopted: list(f.adoptedObjects()), TakenOver: list(f.takenOver()),
		NotAdopted: list(f.refusedObjects()), Files: list(written)}
}

// list is never null in JSON.
func list[T any](all []T) []T { return append([]T{}, all...) }

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}

// count is "1 card" or "2 cards".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
