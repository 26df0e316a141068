// Package opensm is the resource infiniband_opensm: a subnet manager on one
// port of a host.
//
// It must not run commands; the operations of internal/opensm do.
package opensm

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 10 * time.Minute

var kind = managed.Kind{
	Name: "infiniband_opensm", Thing: "subnet manager", Change: "run", Remove: "remove", Removed: "subnet manager",
	HostIn: "host", By: session.PortNamed(), Timeout: standardTimeout,
	Live: []string{"package_version", "port_state", "lid", "sm_lid", "role", "change", "drains"},
	Kept: []string{"allowed_last_manager"},
}

// New returns the resource.
func New() resource.Resource {
	return managed.New(kind, func(r *session.Resource) managed.Object[model, ops.Request, *found.Look, ops.Stored] {
		return object{r}
	})
}

func (o object) Request(ctx context.Context, m, config *model) (ops.Request, error) {
	d, err := m.request(ctx)
	allowed, given := attribute.ConsentsOf(config.Allow)[equalPriority].(types.Int64)
	d.EqualPriority = given && !allowed.IsNull() && allowed.ValueInt64() == int64(d.Priority)
	d.Keys = m.fabricKeys(config.FabricKeys)
	return d, errors.Join(err, checkGiven(d.Keys))
}

func (o object) Place(d ops.Request) managed.Place {
	return managed.Place{Host: d.Host, ID: ref(d).String()}
}

func (o object) Key(d ops.Request) string { return o.PortKey(ref(d)) }

func (o object) Find(s *inventory.Snapshot, d *ops.Request) *found.Look {
	return found.Of(s, d.PortGUID)
}

func (o object) Presence(d ops.Request, l *found.Look, diags *diag.Diagnostics) session.Presence {
	switch why := l.Silence(); {
	case why != "":
		warnSilence(diags, ref(d).String(), why)
	case !l.Managed && !l.Listed && l.Stopped():
		return session.Absent
	}
	return session.Present
}

func (o object) Differences(d ops.Request, l *found.Look) []string { return judge.Differences(l, d) }

func (o object) ToDo(d ops.Request, l *found.Look, _ bool) bool { return !satisfies(l, d) }

// Works of a standby that has a role. What a master has in force is the apply's to prove.
func (o object) Works(l *found.Look) bool { return l.Role() == found.RoleStandby }

// Announce and Withdraw have a master wait for the standbys, see session.Handover.
func (o object) Announce(d ops.Request) { o.Turns.SMs.Announce(ref(d)) }

// Withdraw implements managed.queued.
func (o object) Withdraw(d ops.Request) { o.Turns.SMs.Withdraw(ref(d)) }

// First are the standbys, and the master if keys change.
func (o object) First(d ops.Request, l *found.Look) bool { return turnOf(l, d) == session.SMStandby }

// Drains and Interrupts tell of a restart of the instance: what starts or reads its files again interrupts nobody.
func (o object) Drains(m *model) *types.List { return &m.Drained }

// Interrupts implements managed.interrupter.
func (o object) Interrupts(d ops.Request, l *found.Look) bool {
	return judge.Restarts(l, d)
}

func (o object) Remember(_ *model, d ops.Request, l *found.Look, _ ops.Stored) (ops.Stored, bool) {
	return l.Stored()
}

func (o object) Since(s *step, before ops.Stored) []finding.Finding {
	return judge.CheckSincePlan(s.Found, before, s.Ask)
}

func (o object) Apply(ctx context.Context, s *step) (r change.Result, stays string, err error) {
	s.Ask.EqualPriority = true // what a plan of this apply has started was no master when it was asked
	err = o.Turns.SMs.Do(ctx, ref(s.Ask), turnOf(s.Found, s.Ask), func() error {
		return o.inOrder(s, func() (applyErr error) {
			r, applyErr = change.Apply(ctx, s.Host, s.Found, s.Ask, change.Options{Lab: o.lab(ctx)})
			return applyErr
		})
	})
	if r.Changed || !s.ToDo {
		stays = "What is set up of " + ops.UnitName(s.Ask.PortGUID)
	}
	return r, stays, err
}

func (o object) Fill(ctx context.Context, m *model, d ops.Request, l *found.Look, _ ops.Stored) diag.Diagnostics {
	return m.observe(ctx, d, l)
}

func (o object) Ours(_ ops.Request, l *found.Look) bool { return l.Managed }

// warnSilence says why the state keeps what it has of a subnet manager.
func warnSilence(diags *diag.Diagnostics, name, why string) {
	diags.AddWarning("Subnet manager "+name+": whether it runs could not be read",
		"It is not known whether the service runs and starts at boot, and with which files. The state keeps what was read "+
			"of that last.\n\nFix on the host what the reason names, then plan again.\n\nReason: "+why)
}

// Import refuses what the host shows not to be a subnet manager. A host that does not answer is the
// refresh's to tell of.
func (o object) Import(ctx context.Context, id string, diags *diag.Diagnostics) (map[string]any, error) {
	port, err := attribute.ParsePortRef(id)
	if err == nil && o.Readable(types.StringValue(port.Host)) {
		if _, _, snap, lookErr := o.Look(ctx, port.Host); lookErr == nil {
			diagnostic.AddFindings(ctx, diags, "import subnet manager "+id, judge.CheckImport(found.Of(snap, port.GUID)))
		}
	}
	return map[string]any{"id": id, "host": port.Host, "port_guid": attribute.GUIDRaw(port.GUID)}, err
}

// lab are the ports of the hosts that answer, without the cards whose GUIDs
// this plan changes.
func (o object) lab(ctx context.Context) found.Lab {
	machines, names := o.Machines(ctx)
	anyName := func(host string, is func(name string) bool) bool { return slices.ContainsFunc(names[host], is) }
	lab := found.LabOf(machines, func(host string, pci ib.PCIAddress) bool {
		return anyName(host, func(name string) bool {
			return o.Planned.Card(attribute.CardRef{Host: name, PCI: pci}).GUIDs != nil
		})
	}, func(host string, port ib.GUID) bool {
		return anyName(host, func(name string) bool { return o.Planned.SM(attribute.PortRef{Host: name, GUID: port}) })
	}, func(host string, port ib.GUID) string { return o.Fabrics.Of(attribute.PortRef{Host: host, GUID: port}) })
	seen := slices.Concat(slices.Collect(maps.Values(names))...)
	unseen := slices.DeleteFunc(o.HostNames(), func(host string) bool { return slices.Contains(seen, host) })
	if len(unseen) > 0 {
		lab.Unseen = session.NameList("host", unseen)
	}
	return lab
}

// describeStaying says what others of its host need of what the subnet manager with an id leaves. A host
// that does not answer now is asked again by the removal itself.
func (o object) describeStaying(ctx context.Context, id string) string {
	port, err := attribute.ParsePortRef(id)
	if err != nil || !o.HostReady(types.StringValue(port.Host)) {
		return ""
	}
	_, _, snap, err := o.Look(ctx, port.Host)
	if err != nil {
		return ""
	}
	return strings.Join(append([]string{""}, judge.FindStaying(found.Of(snap, port.GUID))...), "\n\n")
}
