package card

import (
	"context"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
)

var _ session.WithImport = &Resource{}

// Resource is infiniband_card.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_card", session.CardNamed("id"))}
}

// Schema implements resource.Resource.
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attrs := observedAttributes()
	attrs["id"] = attribute.IDAttribute("`host/pci_address/serial_number`; `guid-` and a GUID, or `mac-` and a MAC, " +
		"stand for a serial number that cannot be read")
	attrs["host"] = schema.StringAttribute{
		Required:            true,
		MarkdownDescription: "Key of the host in the provider's `hosts` map. A change adopts the card that is in that host.",
		Validators:          []validator.String{attribute.HostName()},
	}
	attrs["pci_address"] = schema.StringAttribute{
		Required:   true,
		CustomType: attribute.PCIType{},
		MarkdownDescription: "PCI address of the card, `0000:01:00.0`; the domain may be left out. If the card has moved, " +
			"write its new address: all that is configured for the card stays.",
		PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.PCIKind]()},
	}
	attrs["expect"] = expectAttribute()
	resp.Schema = schema.Schema{
		MarkdownDescription: "Adopts one InfiniBand card (a host channel adapter) that is in a host, and records which " +
			"card it is. It never changes the card: `infiniband_firmware`, `infiniband_guids` and `infiniband_link_type` do, and each has " +
			"what it changes. All of a card, with its flash and its ports, is in the data source `infiniband_cards`. " +
			"The first apply records the serial number of the card. It is part of `id`, and is compared in " +
			"each plan and before each write. If another card is in the slot, or the card has moved, the " +
			"plan says so and nothing is changed. MACs and GUIDs are compared too: a card with the same serial number " +
			"and others than this provider has seen or written is another card. Destroying it only forgets the card.",
		Attributes: attrs,
	}
}

// notBlank has a character that shows.
var notBlank = regexp.MustCompile(`\S`)

func expectAttribute() schema.SingleNestedAttribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{
			stringvalidator.RegexMatches(notBlank, "must not be blank"),
		}}
	}
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "What the card at this address must be; each plan checks it. After an exchange, write the " +
			"serial number of the new card: the next apply adopts it.",
		Attributes: map[string]schema.Attribute{
			"serial_number": text("Serial number in the card's vital product data."),
			"part_number":   text("Part number in the card's vital product data, such as `MCX354A-FCCT`."),
			"chip":          text("Name of the chip, such as `ConnectX-3 Pro`."),
			"node_guid": schema.StringAttribute{Optional: true, CustomType: attribute.GUIDType{},
				MarkdownDescription: "Node GUID of the card, such as `0xe41d2d0300e44ed0`. It is needed where the serial number " +
					"does not tell the card from another one: if somebody set its GUIDs and MACs by hand, or if boards share " +
					"a serial number."},
		},
	}
}

func observedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"chip": attribute.ComputedString("Name of the chip that the silicon's own ids stand for, such as " +
			"`ConnectX-3 Pro`; null if it is not known."),
		"part_number": attribute.ComputedString("Part number in the card's vital product data; null if it could never " +
			"be read."),
		"serial_number": attribute.ComputedString("Serial number in the card's vital product data; null if it never could " +
			"be read. It stays that of the adopted card while it cannot be read, as after some cross-flashes."),
		"card_identity": attribute.ComputedString("All that tells the card from others: serial number, part number, chip, " +
			"and the MACs and GUIDs that this provider has seen on it. A refresh adds to it."),
		"port_guids": attribute.ComputedByPort[attribute.GUIDKind]("GUID by port, as the port has it on the wire; in " +
			"Ethernet mode that of the flash, and null if that is not certain. What this apply writes is in `port_guids` of " +
			"`infiniband_guids`."),
	}
}
