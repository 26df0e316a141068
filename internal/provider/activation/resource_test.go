package activation

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/cards"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/journal"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// An apply whose plan said nothing does not end well over what waits, nor over a card that a job writes to.
func TestUnannounced(t *testing.T) {
	t.Parallel()
	idle := []*session.CardAt{{Look: &cards.Look{}}}
	busy := []*session.CardAt{{Look: &cards.Look{Pending: []journal.Report{{Running: true}}}}}
	none, open := &model{Restart: attribute.NoRestart()}, &model{Restart: attribute.UnknownRestart()}
	reset := &model{Restart: attribute.NoRestart(), Way: types.StringValue(wayReset + "0000:01:00.0")}
	for _, x := range []struct {
		plan *model
		all  []*session.CardAt
		text string
		says string // empty: no error
	}{
		{none, idle, "", ""}, {open, idle, "activates GUIDs", ""}, {reset, idle, "activates GUIDs", ""},
		{none, idle, "activates GUIDs", "HO019 The plan was to restart nothing. Now a restart activates GUIDs."},
		{none, busy, "", "HO004 A job writes to card"}, {open, busy, "", "HO004 A job writes to card"},
	} {
		err := unannounced("activate", x.plan, x.all, x.text)
		var refused *safety.RefusedError
		said := ""
		if errors.As(err, &refused) {
			said = refused.Findings[0].Rule.Code + " " + refused.Findings[0].Evidence
		}
		if !strings.HasPrefix(said, x.says) || (x.says == "") != (err == nil) {
			t.Errorf("%q: %v, expected %q", x.text, err, x.says)
		}
	}
}
