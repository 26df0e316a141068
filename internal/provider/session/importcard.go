package session

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// ImportedCard gives the card that an import names, and what is done as errors call it;
// nil if it was refused. What names an identity is of that card alone, whatever is in
// the slot: FW080.
func (r *Importable) ImportedCard(ctx context.Context, what string, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) (*CardAt, string) {
	id, ok := r.ImportID(ctx, what, req, resp)
	what += " " + id
	if !ok {
		return nil, what
	}
	diags := &resp.Diagnostics
	if !r.HostReady(types.StringValue(hostOf(id))) {
		diagnostic.AddError(diags, what, errors.New("the provider's configuration is not known yet"))
		return nil, what
	}
	at := r.cardOf(ctx, attribute.NewText[attribute.CardIDKind](id), types.StringNull(), what, diags)
	if at == nil || diagnostic.AddFindings(ctx, diags, what, at.misnamed()) {
		return nil, what
	}
	return at, what
}

// misnamed says that an import names the identity of another card than the one in the slot.
func (c *CardAt) misnamed() []finding.Finding { return misnamed(c.Strange(), c.Snap, c.HCA.Recorded) }

// Misnamed is the refusal of an import that names a card which the host does not have there.
func Misnamed(snap *inventory.Snapshot, named ib.Identity) string {
	return misnamed([]finding.Finding{finding.CardExchanged.Find("")}, snap, named)[0].Detail()
}

// misnamed says in findings on the identity of a card how an import is corrected. Nothing was
// recorded of the card: only the import can be wrong.
func misnamed(found []finding.Finding, snap *inventory.Snapshot, named ib.Identity) []finding.Finding {
	for i := range found {
		f := &found[i]
		if f.Rule != finding.CardExchanged && f.Rule != finding.CardMoved {
			continue
		}
		var cards []string
		for j := range snap.Cards {
			if card := &snap.Cards[j]; !card.Virtual {
				cards = append(cards, card.PCI.String()+" with serial number "+card.Serial.Or("that cannot be read"))
			}
		}
		f.Evidence = "The import names " + named.Record().String() + ". Cards of " + snap.Host + ": " +
			strings.Join(cards, ", ") + "."
		f.WayOut = "Correct the import: write the PCI address and the serial number of one card, or leave the serial " +
			"number out. Nothing was written, and nothing is in the state."
	}
	return found
}

// ImportCard stores in a resource of one card which card it is. The refresh that
// follows reads the rest. what is verb and thing, "import GUIDs".
func (r *Importable) ImportCard(ctx context.Context, what string, req resource.ImportStateRequest,
	resp *resource.ImportStateResponse) {
	at, _ := r.ImportedCard(ctx, what+" of card", req, resp)
	if at == nil {
		return
	}
	id := at.Ref.String()
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(id))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("card_id"),
		attribute.NewText[attribute.CardIDKind](id))...)
}
