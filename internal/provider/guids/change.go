package guids

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

func changeConsent() schema.SingleNestedAttribute {
	values := func(what string) schema.ListAttribute {
		return schema.ListAttribute{Required: true, WriteOnly: true, ElementType: types.StringType, MarkdownDescription: what,
			Validators: []validator.List{listvalidator.SizeAtLeast(1)}}
	}
	return schema.SingleNestedAttribute{Optional: true, WriteOnly: true,
		MarkdownDescription: "Consent to replace GUIDs and MACs in flash that are valid and of this card alone: each value " +
			"of `from` by the one at its place in `to`. What this provider wrote, or another card has, needs none.",
		Attributes: map[string]schema.Attribute{
			"from": values("GUIDs and MACs in flash."),
			"to":   values("What each of them becomes."),
		}}
}

// consent reads allow.guid_change.
func consent(v attribute.Consents) (c safety.GUIDChange, err error) {
	if c.From, err = canonical(v, "from"); err == nil {
		c.To, err = canonical(v, "to")
	}
	if err == nil && len(c.From) != len(c.To) {
		err = fmt.Errorf("allow.guid_change has %d values in from and %d in to: each value needs its own", len(c.From),
			len(c.To))
	}
	return c, err
}

// canonical gives the GUIDs and MACs of a part of the consent as a finding writes them.
func canonical(v attribute.Consents, part string) (all []string, err error) {
	for _, text := range v.Names(part) {
		if guid, notGUID := ib.ParseGUID(text); notGUID == nil {
			all = append(all, guid.String())
			continue
		}
		mac, notMAC := ib.ParseMAC(text)
		if notMAC != nil {
			return nil, fmt.Errorf("invalid value %q in allow.guid_change.%s: want a GUID or a MAC", text, part)
		}
		all = append(all, mac.String())
	}
	return all, nil
}

// places are what the values of a card are of, in the order of ib.GUIDSet.Texts.
var places = [...]string{"node", "port 1", "port 2", "system image", "MAC 1", "MAC 2"}

// changeOf is what becomes of each value of a set; null if all stay.
func changeOf(from, to ib.GUIDSet) types.String {
	var all []string
	for _, c := range from.Changes(to) {
		if !c.IsSet() {
			c.From = "none"
		}
		all = append(all, places[c.Place]+": "+c.From+" -> "+c.To)
	}
	return attribute.OrNull(strings.Join(all, "; "))
}
