package fabric

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fabric"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var (
	cableTypes = types.ObjectType{AttrTypes: map[string]attr.Type{"a": types.StringType, "b": types.StringType,
		"min_width": types.StringType, "min_speed": types.StringType}}
	bootTypes     = types.MapType{ElemType: types.StringType}
	countersTypes = types.MapType{ElemType: counterTypes}
	readingTypes  = types.ObjectType{AttrTypes: map[string]attr.Type{"read_at": types.StringType,
		"counters": countersTypes, "boot_ids": bootTypes}}
)

// look looks at the fabric of a host, with what its configuration and its other hosts add. It gives the GUID of the
// port that looked, and the hosts that answered; one that does not is passed over.
func look(ctx context.Context, d *session.Data, name string, wanted ib.GUID, details bool,
	others []string) (*fabric.Fabric, ib.GUID, map[string]*inventory.Snapshot, error) {
	h, _, snap, err := d.Look(ctx, name)
	if err != nil {
		return nil, 0, nil, err
	}
	through, err := fabric.Pick(snap, wanted)
	if err != nil {
		return nil, 0, nil, err
	}
	found, err := fabric.Observe(ctx, h, through, details)
	if err != nil {
		return nil, 0, nil, err
	}
	port, ok := fabric.LooksThrough(snap, through)
	if ok {
		found.NoteLink(name, port)
	}
	hosts, _ := d.SnapshotsOf(ctx, others)
	found.Recognise(hosts)
	found.GiveNames(d.NodeNames, hosts)
	found.CallFabric(func(host string, port ib.GUID) string {
		return d.Fabrics.Of(attribute.PortRef{Host: host, GUID: port})
	})
	return found, port.PortGUID, hosts, nil
}

func boots(hosts map[string]*inventory.Snapshot) map[string]string {
	all := map[string]string{}
	for name, s := range hosts {
		if s.BootID != "" {
			all[name] = s.BootID
		}
	}
	return all
}

func cableValue(c fabric.ExpectedCable) attr.Value {
	return types.ObjectValueMust(cableTypes.AttrTypes, map[string]attr.Value{"a": types.StringValue(c.A),
		"b": types.StringValue(c.B), "min_width": widthText(c.MinWidth), "min_speed": attribute.OrNull(c.MinSpeed.String())})
}

func readingValue(r fabric.Reading) types.Object {
	boots := map[string]attr.Value{}
	for host, id := range r.Boots {
		boots[host] = types.StringValue(id)
	}
	return types.ObjectValueMust(readingTypes.AttrTypes, map[string]attr.Value{
		"read_at":  types.StringValue(r.At.UTC().Format(time.RFC3339)),
		"counters": counterValues(r.Counters), "boot_ids": types.MapValueMust(types.StringType, boots)})
}

// readingOf is nil for a value that is null.
func readingOf(v types.Object) (*fabric.Reading, error) {
	if v.IsNull() {
		return nil, nil
	}
	r := &fabric.Reading{Boots: map[string]string{}}
	counters, _ := v.Attributes()["counters"].(types.Map)
	r.Counters = countersOf(counters)
	boots, _ := v.Attributes()["boot_ids"].(types.Map)
	for host, id := range boots.Elements() {
		r.Boots[host] = attribute.StringOf(id)
	}
	at, err := time.Parse(time.RFC3339, attribute.StringOf(v.Attributes()["read_at"]))
	if r.At = at; err != nil {
		return nil, errors.New("since: read_at is no time as 2026-11-28T21:00:00Z")
	}
	return r, nil
}
