package hostdata

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ibfabric/terraform-provider-infiniband/internal/platform"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

func describe() schema.Schema {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return schema.Schema{
		MarkdownDescription: "Facts of one host that matter for InfiniBand: system, kernel, tools, the way SSH reaches it, " +
			"its cards and its IPoIB interfaces.",
		Attributes: map[string]schema.Attribute{
			"id": text("The name of the host."),
			"host": schema.StringAttribute{Required: true, Validators: []validator.String{attribute.HostName()},
				MarkdownDescription: "Key of the host in the provider's `hosts` map."},
			"hostname":         text("Name that the host gives itself."),
			"platform":         text("How the provider treats the host: " + kinds() + "; null if the provider only reads it."),
			"os":               text("Operating system, such as `Ubuntu 24.04.3 LTS`."),
			"kernel":           text("Release of the running kernel."),
			"lockdown":         text("Kernel lockdown: `none`, `integrity` or `confidentiality`; null if the kernel has none."),
			"mstflint_version": text("Version of mstflint; null if it is not installed."),
			"ssh_interface":    text("Interface that the SSH session comes in by; null if it is not known."),
			"card_ids": schema.ListAttribute{Computed: true, ElementType: types.StringType,
				MarkdownDescription: "Ids of the cards in the host, by PCI address; see the data source `infiniband_cards` for " +
					"what they are."},
			"interfaces": schema.MapNestedAttribute{
				Computed:            true,
				MarkdownDescription: "IPoIB interfaces by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"port_guid": schema.StringAttribute{Computed: true, CustomType: attribute.GUIDType{},
						MarkdownDescription: "GUID of the port."},
					"mode":    text("`datagram` or `connected`."),
					"mtu":     schema.Int64Attribute{Computed: true, MarkdownDescription: "MTU in bytes."},
					"up":      schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it is administratively up."},
					"carrier": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it works."},
					"addresses": schema.ListAttribute{Computed: true, ElementType: types.StringType,
						MarkdownDescription: "Addresses with their prefix lengths."},
				}},
			},
		},
	}
}

// kinds lists the values of platform.
func kinds() string {
	var all []string
	for _, d := range platform.All {
		all = append(all, fmt.Sprintf("`%s` (%s)", d.Kind, d.Title))
	}
	return strings.Join(all, ", ")
}
