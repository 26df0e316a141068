// Package ipoib is the resource infiniband_ipoib_interface: mode, MTU and
// addresses of an IP-over-InfiniBand interface.
//
// It must not run commands; the operations of internal/ipoib do.
package ipoib

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/explain"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/managed"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/planned"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

const standardTimeout = 10 * time.Minute

var kind = managed.Kind{
	Name: "infiniband_ipoib_interface", Thing: "IPoIB interface", Change: "configure", Remove: "remove",
	Removed: "configuration of IPoIB interface", HostIn: "host",
	By: session.PortNamed(session.Part{Name: "pkey", Optional: true,
		Description: "P_Key of an interface of another partition than the default one, `0x8001`."}),
	Timeout: standardTimeout,
	Live: []string{"network_stack", "interface", "up", "carrier", "stored_in", "effective", "change", "dhcp_address",
		"active_port", "drains"},
	Kept:   []string{"allowed_management_path"},
	Stores: true,
}

type step = managed.Step[model, ipoib.Request, *found.Look]

// object is what only IPoIB interfaces do.
type object struct{ *session.Resource }

// New returns the resource.
func New() resource.Resource {
	return managed.New(kind, func(r *session.Resource) managed.Object[model, ipoib.Request, *found.Look, found.Seen] {
		return object{r}
	})
}

// Request takes the consents of the configuration. Where there is none, the state has those that a
// destroy needs.
func (o object) Request(_ context.Context, m, config *model) (ipoib.Request, error) {
	d, err := m.request()
	if !config.Host.IsNull() {
		d.Consent = config.consent()
	}
	return d, err
}

func (o object) Place(d ipoib.Request) managed.Place {
	return managed.Place{Host: d.Host, ID: ref(d).String()}
}

func (o object) Key(d ipoib.Request) string { return o.PortKey(ref(d)) }

// Parts are the backup of a bond, which may be the port of another interface, and the name of the bond.
func (o object) Parts(d ipoib.Request) []planned.Claim {
	if d.Bond.Name == "" || d.Bond.Backup == d.PortGUID {
		return nil
	}
	backup := attribute.PortRef{Host: d.Host, GUID: d.Bond.Backup}
	return []planned.Claim{{Key: o.PortKey(backup), Name: backup.String()},
		{Key: o.HostKey(d.Host) + "/" + d.Bond.Name, Name: d.Host + "/" + d.Bond.Name}}
}

func (o object) planned(d ipoib.Request) planned.Object {
	return planned.Object{Kind: o.Kind, Key: o.Key(d)}
}

// Find fills in the MTU that follows from the mode. An unknown platform keeps none; its finding says why.
func (o object) Find(s *inventory.Snapshot, d *ipoib.Request) *found.Look {
	settleMTU(d, s)
	return found.At(s, d.Ref())
}

func (o object) Presence(d ipoib.Request, l *found.Look, diags *diag.Diagnostics) session.Presence {
	switch {
	case l.Silence != "":
		diags.AddWarning("IPoIB interface "+ref(d).String()+": what configures it could not be read",
			"systemd did not say which network services run. The state keeps what was read last.\n\n"+
				"Fix what systemctl reports on the host, then plan again.\n\nReason: "+l.Silence)
		return session.Strange
	case !l.Present && !l.Persisted.Found:
		return session.Absent
	}
	return session.Present
}

func (o object) Differences(d ipoib.Request, l *found.Look) []string { return l.Differences(d.Config) }

// ToDo is false where only systemd is silent about what the state holds. A host that is only read keeps
// what is left of an earlier change.
func (o object) ToDo(d ipoib.Request, l *found.Look, held bool) bool {
	if o.Hosts[d.Host].Observe && l.OnlyPutsAway(d) {
		return false
	}
	return l.ToDo(d) && (!held || !l.OnlySilence(d))
}

// Drains and Interrupts tell of an interface that is up and is configured anew.
func (o object) Drains(m *model) *types.List { return &m.Drained }

// Interrupts implements managed.interrupter.
func (o object) Interrupts(d ipoib.Request, l *found.Look) bool { return l.Interrupts(d) }

func (o object) Remember(_ *model, d ipoib.Request, l *found.Look, _ found.Seen) (found.Seen, bool) {
	seen := l.Seen()
	seen.ToDo = judge.ToDo(l, d)
	return seen, true
}

func (o object) Since(s *step, before found.Seen) []finding.Finding {
	return judge.CheckSeen(s.Found, before, o.shown(s))
}

// shown is the request with the addresses and routes that the plan shows to end: those of the state, and
// in a replacement those of the object that this apply has removed.
func (o object) shown(s *step) ipoib.Request {
	d := s.Ask
	d.Consent.Shown = slices.Concat(s.State.shown(), o.Planned.Removed(o.planned(d)))
	return d
}

// Apply compares what was read back by itself, see Kind.Stores.
func (o object) Apply(ctx context.Context, s *step) (r change.Result, stays string, err error) {
	d := o.shown(s)
	r, err = change.Apply(ctx, s.Host, d, change.Options{ConfirmTimeout: o.Confirm})
	var confirmed *change.ConfirmedError
	made := errors.As(err, &confirmed)
	if err == nil {
		if diff := r.Look.Differences(d.Config); len(diff) > 0 {
			err, made = changedSince(o.Place(d).ID, diff), true
		}
	}
	if made {
		o.Made(o.Key(d))
		stays = "IPoIB interface " + ref(d).String() + " with its configuration"
	}
	return r, stays, err
}

// changedSince is the error on a host that changed again after the change. The state keeps what it
// held: core would take any other value for a bug.
func changedSince(id string, differences []string) error {
	return &explain.Failure{
		Heading: "Unable to configure IPoIB interface " + id + ": the host shows something else afterwards",
		What: "The change was made and confirmed. Then something else changed the interface. Plan again to see what it has " +
			"now.",
		Facts: []explain.Fact{{"Differences", strings.Join(differences, "; ")}}}
}

func (o object) Fill(_ context.Context, m *model, d ipoib.Request, l *found.Look, _ found.Seen) diag.Diagnostics {
	known := &d.Config
	if m.Addresses.IsNull() {
		known = nil // after an import nothing is asked for
	}
	m.observe(d, l, known)
	return nil
}

// Import finds the bond of a port by what this provider has written: an id does not name it.
func (o object) Import(ctx context.Context, id string, _ *diag.Diagnostics) (map[string]any, error) {
	port, err := attribute.ParsePortRef(id)
	given := map[string]any{"id": port.String(), "host": port.Host, "port_guid": attribute.GUIDRaw(port.GUID)}
	if port.PKey != "" {
		given["pkey"] = attribute.PKeyText(port.PKey)
	}
	if err != nil || o.Data == nil || port.PKey != "" {
		return given, err
	}
	if _, _, snap, unread := o.Look(ctx, port.Host); unread == nil { // or the read that follows says why not
		if bond := found.BondOf(snap, port.GUID); bond.Name != "" {
			given["bond"] = bondValue(bond)
		}
	}
	return given, err
}
