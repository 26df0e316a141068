package opensm

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/types"

	ops "github.com/ibfabric/terraform-provider-infiniband/internal/opensm"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/found"
	"github.com/ibfabric/terraform-provider-infiniband/internal/opensm/judge"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

// planKeys fills what the plan shows of the keys, and compares them with those of the subnet managers that were
// planned before this one.
func (o object) planKeys(s *step) {
	switch k := s.Ask.Keys; {
	case k.Known || k.Version == 0:
		s.Plan.Keys = keyReport(k.Reports())
	case s.Exists && s.State.KeysVersion.Equal(s.Plan.KeysVersion):
		s.Plan.Keys = s.State.Keys
	default:
		s.Plan.Keys = types.MapUnknown(types.StringType)
	}
}

// otherKeys is a subnet manager with other keys that may be on the same fabric; nil if there is none.
func (o object) otherKeys(ctx context.Context, d ops.Request) *ops.Request {
	if d.Keys.Version > 0 && !d.Keys.Known {
		return nil
	}
	own := ref(d)
	for _, other := range o.Planned.OtherKeys(own, d.Keys.Values()) {
		if !o.Planned.SMsApart(own, other) && !o.OnTwoFabrics(ctx, own, other) {
			return &ops.Request{Host: other.Host, PortGUID: other.GUID}
		}
	}
	return nil
}

// turnOf is the turn of a change. With other keys the master goes first: a standby that had them before it would take
// itself for the only subnet manager, and rule as well.
func turnOf(l *found.Look, d ops.Request) session.SMRole {
	switch {
	case !judge.ChangesKeys(l, d):
		return role(l)
	case role(l) == session.SMMaster:
		return session.SMStandby
	}
	return session.SMMaster
}

// role is what a subnet manager does before it is changed.
func role(l *found.Look) session.SMRole {
	switch {
	case l.Stopped():
		return session.SMStopped
	case l.Master():
		return session.SMMaster
	}
	return session.SMStandby
}

// inOrder changes a subnet manager, unless keys are changed and the master has kept its own.
func (o object) inOrder(s *step, do func() error) error {
	own := ref(s.Ask)
	if !judge.ChangesKeys(s.Found, s.Ask) {
		return do()
	}
	if failed, some := o.Planned.KeysFailed(); some && failed != own && !o.Planned.SMsApart(own, failed) {
		return fmt.Errorf("the keys of the master, %s, could not be changed, so those of %s stay as they are", failed, own)
	}
	err := do()
	if err != nil && s.Found.Master() {
		o.Planned.FailKeys(own)
	}
	return err
}

// keysStay says what a destroy leaves of the keys.
func keysStay(m *model) string {
	if m.KeysVersion.ValueInt64() == 0 {
		return ""
	}
	return "\n\nThe ports keep their M_Key. Keep its value: without it no other subnet manager can change them until " +
		"the lease period ends or they are powered off."
}
