package session

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
)

// ImportedCard gives the card that the id of an import names; nil if it was refused.
// An id with an identity is of that card alone, whatever is in the slot: FW080.
func (d *Data) ImportedCard(ctx context.Context, id, what string, diags *diag.Diagnostics) *CardAt {
	name, err := attribute.ParseCardName(id)
	if err == nil {
		err = d.InMap(name.Host)
	}
	if err == nil && !d.HostReady(types.StringValue(name.Host)) {
		err = errors.New("the provider's configuration is not known yet")
	}
	if err != nil {
		diagnostic.AddError(diags, what, err)
		return nil
	}
	at := d.RecordedCard(ctx, attribute.NewText[attribute.CardIDKind](id), types.StringNull(), what, diags)
	if at == nil || diagnostic.AddFindings(ctx, diags, what, at.Strange()) {
		return nil
	}
	return at
}

// ImportCard stores in a resource of one card which card it is. The refresh that
// follows reads the rest.
func (d *Data) ImportCard(ctx context.Context, what string, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	what += " of card " + req.ID
	at := d.ImportedCard(ctx, req.ID, what, &resp.Diagnostics)
	if at == nil {
		return
	}
	id := at.Ref.String()
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), types.StringValue(id))...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("card_id"), attribute.NewText[attribute.CardIDKind](id))...)
}
