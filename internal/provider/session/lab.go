package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"golang.org/x/sync/errgroup"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/clash"
)

// collecting is how many hosts are asked at the same time. Logins cost this machine CPU
// time: hundreds at once would time out.
const collecting = 64

// Lab returns the identities of the cards of all configured hosts that answer
// and of those that this plan changes, for the checks of one card. Hosts that do
// not answer are named in one warning of the walk, and cards whose flash was not read in
// another of the card: they are not compared.
func (d *Data) Lab(ctx context.Context, card attribute.CardRef, diags *diag.Diagnostics) clash.Facts {
	if missing := d.noteUnseen(d.identify(ctx)); len(missing) > 0 {
		d.warnMissing(diags, missing)
	}
	lab := clash.Facts{Lab: d.Planned.Lab(), SameMachine: d.sameMachine, Apart: d.cardsApart}
	if unread := lab.Unread(card.Host, card.PCI); len(unread) > 0 {
		warnUnread(diags, card, unread)
	}
	return lab
}

// warnMissing names the hosts that do not answer, if that was not said yet.
func (d *Data) warnMissing(diags *diag.Diagnostics, missing map[string]error) {
	names := slices.Sorted(maps.Keys(missing))
	d.known.mu.Lock()
	all := strings.Join(names, " ")
	told := d.known.told == all
	d.known.told = all
	d.known.mu.Unlock()
	if told {
		return
	}
	diags.AddWarning("GUIDs of "+nameList("host", names)+" are not compared",
		"A host that does not answer may have a card with the same GUID or MAC, and two cards with one GUID make a "+
			"fabric unusable. Start the host and plan again before you write GUIDs, or compare them by hand.\n\n"+
			diagnostic.Reason(missing[names[0]]))
}

// warnUnread names the cards whose flash was not read, each with the reason.
func warnUnread(diags *diag.Diagnostics, card attribute.CardRef, unread []clash.Holder) {
	var names, reasons []string
	for _, c := range unread {
		names = append(names, c.ID())
		if len(reasons) < namesListed {
			reasons = append(reasons, c.ID()+": "+c.Unread)
		}
	}
	diags.AddWarning(fmt.Sprintf("Card %s: GUIDs of %s are not compared", card, nameList("card", names)),
		"A card whose flash could not be read may have the same GUID or MAC there, and two cards with one GUID make a "+
			"fabric unusable. Its driver shows no GUIDs of Ethernet ports, and the old ones until a restart. Fix what is "+
			"named below and plan again before you write GUIDs, or compare them by hand.\n\n"+strings.Join(reasons, "\n"))
}

// sameMachine compares two hosts by what was found on them last.
func (d *Data) sameMachine(a, b string) fact.Bool {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	one, two := d.known.from[a], d.known.from[b]
	if one == nil || two == nil {
		return fact.Unknown[bool]("one of them does not answer")
	}
	return inventory.SameMachine(one, two)
}

// identify updates the index of identities. It is called for every card, so it asks no
// host if none has changed: a walk over all hosts for each card would grow with the
// square of their number.
func (d *Data) identify(ctx context.Context) (missing map[string]error) {
	changes := d.Set.Changes()
	d.known.mu.Lock()
	whole, missing := d.known.whole && d.known.changes == changes, d.known.missing
	d.known.mu.Unlock()
	if whole {
		return missing
	}
	found, missing := d.Snapshots(ctx)
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	if d.known.from == nil {
		d.known.from = map[string]*inventory.Snapshot{}
	}
	for name, snap := range found {
		if d.known.from[name] != snap {
			d.known.from[name] = snap
			d.Planned.Lab().Found(name, cards.Identities(snap))
		}
	}
	d.known.changes, d.known.missing = changes, missing
	d.known.whole = true
	for _, err := range missing {
		d.known.whole = d.known.whole && hosts.IsDown(err)
	}
	return missing
}

// namesListed is how many hosts or cards a list names before it only counts.
const namesListed = 5

func nameList(kind string, names []string) string {
	switch n := len(names); {
	case n == 1:
		return kind + " " + names[0]
	case n > namesListed:
		return fmt.Sprintf("%ss %s and %d more", kind, strings.Join(names[:namesListed], ", "), n-namesListed)
	}
	return kind + "s " + strings.Join(names, ", ")
}

// Snapshots returns what is on every configured host that answers, by name; it
// is what duplicates of GUIDs are searched in. Hosts that do not answer are
// named in missing with the reason.
func (d *Data) Snapshots(ctx context.Context) (found map[string]*inventory.Snapshot, missing map[string]error) {
	return d.SnapshotsOf(ctx, d.HostNames())
}

// Machines is Snapshots with each machine once, under its first name; names gives all names of
// each. The GUIDs of a host with two names are those of one card.
func (d *Data) Machines(ctx context.Context) (found map[string]*inventory.Snapshot, names map[string][]string) {
	all, _ := d.Snapshots(ctx)
	found, names = map[string]*inventory.Snapshot{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		first := d.Planned.Machine(name, all[name])
		found[first], names[first] = all[name], append(names[first], name)
	}
	return found, names
}

// SnapshotsOf is Snapshots for some hosts. What asks for them can do without those that do
// not answer.
func (d *Data) SnapshotsOf(ctx context.Context,
	names []string) (found map[string]*inventory.Snapshot, missing map[string]error) {
	ctx = hosts.WithoutLosses(ctx)
	found, missing = make(map[string]*inventory.Snapshot, len(names)), map[string]error{}
	var mu sync.Mutex
	var ask errgroup.Group
	ask.SetLimit(collecting)
	for _, name := range names {
		ask.Go(func() error {
			_, _, snap, err := d.Look(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing[name] = err
			} else {
				found[name] = snap
			}
			return nil
		})
	}
	_ = ask.Wait() // every error is in missing
	d.noteUnseen(missing)
	return found, missing
}
