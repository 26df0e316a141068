package firmware

import (
	"context"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety/bootrom"
)

const standardTimeout = 45 * time.Minute

var _ session.WithImport = &Resource{}

// Resource is infiniband_firmware. It has a plot of its own beside managed.CardResource: without an image it only
// reads, a state that is settled stays as it is to the letter, and a destroy may burn what its plan has announced.
type Resource struct{ session.Importable }

// New returns the resource.
func New() resource.Resource {
	return &Resource{session.NewResource("infiniband_firmware", session.CardNamed("card_id"))}
}

const description = "The firmware in a card's flash, and the firmware that the card runs. A plan reads every fact " +
	"that decides whether a burn is safe. The apply checks it again at the moment of the burn. The default answer is " +
	"refusal, with a stable code, the evidence and the way out; " +
	"[the findings](../guides/findings.md) lists them all. Consents, in `allow`, name exactly the change that is " +
	"allowed.\n\nAn apply makes a backup in `backup_dir` and verifies it. It burns in a job of the host, which " +
	"survives lost connections. Then it verifies flash, PSID, version, GUIDs and MACs, and restarts " +
	"the host if `activation` says so. If it is interrupted, the next plan says what happened and " +
	"the next apply goes on from there.\n\n" +
	"Each refresh compares PSID, version, release date and product version in flash with the image. " +
	"It also reads the host's journal for the image of the last burn. It reads and compares the " +
	"whole flash only if one of these differs, or if the image is a new one. So a plan without a change says nothing " +
	"of a burn by hand that leaves all of these values equal, or of a flash that was damaged: a new `infiniband_firmware_backup` " +
	"reads and verifies the whole flash.\n\n" +
	"Without `image_id` it holds a card as it is: the attributes show what is in flash and what runs, and nothing is " +
	"ever written, whatever consents, `activation` and `on_destroy` say. " +
	"Write `flash_psid` and `flash_version` to hold it: firmware that somebody else burns is then a change in the " +
	"plan. Without them it is a warning, once. Neither is burned over. " +
	"An import of a card that the provider never burned starts like this. An `image_id` that is added later is " +
	"burned like any other, with the same verdict and consents; one that is removed changes nothing on the card.\n\n" +
	"Destroying it only forgets it: the firmware stays in the card. With `on_destroy = \"restore\"` " +
	"the destroy burns back the firmware that the card had before."

const goesOn = "; a job that writes flash continues on the host, and the next plan finds it."

var (
	times = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "backup, burn, verification and restart, without the wait for other cards",
		AtEnd: "After that time the apply fails" + goesOn,
	}
	restoreTimes = attribute.TimedOperation{
		Standard: standardTimeout, Covers: "what `on_destroy = \"restore\"` does; without it a destroy takes no time",
		AtEnd: "After that time the destroy fails, and the resource stays in the state" + goesOn,
	}
)

// Schema implements resource.Resource.
func (r *Resource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes:          arguments(ctx),
	}
	maps.Copy(resp.Schema.Attributes, results())
	maps.Copy(resp.Schema.Attributes, attribute.RestartAttributes())
	resp.Schema.Attributes["drains"] = attribute.Drains("the host restarts, or if the flash is written")
}

// arguments are what a configuration says.
func arguments(ctx context.Context) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":            attribute.IDAttribute("`host/pci_address`"),
		"card_id":       attribute.CardIDAttribute(),
		"card_identity": attribute.CardIdentityAttribute(),
		"image_id": schema.StringAttribute{
			Optional: true, CustomType: attribute.ImageIDType{},
			MarkdownDescription: "Id of the image, `host/sha256`, as `infiniband_firmware_image.….id` gives it; another " +
				"image with the same PSID, version and content is no change. Without it the resource holds what is in flash and " +
				"never writes to the card.",
			PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.ImageIDKind]()},
		},
		"rollback_image_id": schema.StringAttribute{
			Optional: true, CustomType: attribute.ImageIDType{},
			MarkdownDescription: "Id of an `infiniband_firmware_image` of what the card has now, `host/sha256`. Only a card " +
				"with secure firmware needs it, whose flash nobody can read: see [Secure firmware](#secure-firmware).",
			PlanModifiers: []planmodifier.String{attribute.KeepSpelling[attribute.ImageIDKind]()},
		},
		finding.Allow: attribute.AllowAttribute(map[string]schema.Attribute{
			"psid_change": crossFlash(),
			"downgrade": attribute.ConsentToPair[attribute.VersionKind]("Consent to an older firmware: exactly this " +
				"version `from` may become that version `to`."),
			"branch_change": attribute.ConsentToPair[attribute.VersionKind]("Consent to firmware of another branch, " +
				"where both versions state one (four digits in the middle, `12.1102.6630`): exactly this version `from` may " +
				"become that version `to`."),
			"reinstall": attribute.ConsentToVersion("Consent to burn other content of the version that is in flash " +
				"already: that version."),
			"other_board": attribute.ConsentToName("Consent to an image for a board that has another number of ports, by the " +
				"table of boards: the PSID of that image."),
			"without_copy": attribute.ConsentToAll("Consent to burn a card whose flash nobody can read: exactly this card, "+
				"way back and image.", map[string]string{
				"card":            "Serial number of the card, or else its node GUID.",
				"rollback_sha256": "SHA-256 of the image of `rollback_image_id`.",
				"image_sha256":    "SHA-256 of the image that is burned.",
			}),
			attribute.UnprovenFlash: attribute.ConsentToUnproven("burn over"),
			attribute.ManagementPath: attribute.ConsentToNames("Consent to change the card although the SSH session or the " +
				"default route of the host rides on it: the names of those interfaces."),
			"after_failure": attribute.ConsentToNames("Consent to burn although burns of other cards failed: the jobs that " +
				"the refusal names."),
		}),
		"activation": attribute.ActivationAttribute(),
		"boot_rom": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "Which boot ROM the card has after a burn: `image` is that of the image, or none if it has " +
				"none; `keep` is its own, and is refused where the burn replaces it ([FW070](../guides/findings.md#" +
				finding.Anchor(finding.BootROMNotKept.Heading()) + ")). If left out, it is that of the image, and a " +
				"ConnectX-3 keeps its own if the image has none.",
			Validators: []validator.String{stringvalidator.OneOf(string(bootrom.Keep), string(bootrom.Image))},
		},
		"on_destroy": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(destroyKeep),
			MarkdownDescription: "What a destroy does with the card: `keep` (the default) leaves the firmware as it is, " +
				"`restore` burns back what the card had before this resource first burned it. See [Restore on " +
				"destroy](#restore-on-destroy).",
			Validators: []validator.String{stringvalidator.OneOf(destroyKeep, destroyRestore)},
		},
		"timeouts": attribute.TimeoutsAttribute(ctx, times, &restoreTimes),
	}
}

// results are what the provider reads.
func results() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"image_sha256": attribute.ComputedString("SHA-256 of the image that the configuration asks for; null without " +
			"`image_id`."),
		"image_psid":    attribute.ComputedPSID("PSID of that image; null without `image_id`."),
		"image_version": attribute.ComputedVersion("Firmware version of that image; null without `image_id`."),
		"image_boot_rom": attribute.ComputedString("Boot ROM of that image, its kinds and versions: `PXE 3.4.752`; `none` " +
			"without one; null without `image_id`."),
		"flash_boot_rom": attribute.ComputedString("Boot ROM in flash, in the same way."),
		"change": attribute.ComputedString("The last change, or the planned one: `MT_… 2.40.7000 -> MT_… " +
			"2.42.5000`; null if nothing was or will be burned. " + attribute.BindsTheApply),
		"allowed_management_path": attribute.AllowedPath(),
		"flash_psid":              held[attribute.PSIDKind]("PSID in flash."),
		"flash_version":           held[attribute.VersionKind]("Firmware version in flash."),
		"running_psid": attribute.ComputedPSID("PSID that the card booted; differs from flash until the next " +
			"restart." + attribute.LeftToHost),
		"running_version": attribute.ComputedVersion("Firmware version that the card booted." + attribute.LeftToHost),
		"reboot_required": attribute.ComputedBool("Whether the host must restart before the card runs what is in " +
			"flash; null if no driver shows what the card runs, unless the provider burned it since the host started." +
			attribute.LeftToHost),
		"backup_path": attribute.ComputedString("Directory on the operator's machine with the firmware that was in flash " +
			"before the last burn, `firmware.bin`, and what was known of the card, `card.json`. Null if nothing is known, and " +
			"after an import."),
		"original_backup_path": attribute.ComputedString("Directory with the firmware that was in flash before the first " +
			"burn by this resource, which `on_destroy = \"restore\"` burns back. See [Restore on " +
			"destroy](#restore-on-destroy)."),
	}
}

// held is what is in flash. A configuration without an image may say what it has to be.
func held[K attribute.Kind](description string) schema.StringAttribute {
	a := attribute.ComputedText[K](description + " Without `image_id` it may be written: a plan then shows other " +
		"firmware as a change, and the apply refuses it ([FW090](../guides/findings.md#" +
		finding.Anchor(finding.FlashNotAsWritten.Heading()) + ")).")
	a.Optional = true
	return a
}

// crossFlash is the consent to another PSID. It may name card and image, so that it serves no other ones.
func crossFlash() schema.SingleNestedAttribute {
	a := attribute.ConsentToPair[attribute.PSIDKind]("Consent to a cross-flash: exactly this PSID `from` may become that " +
		"PSID `to`. With `card` or `image_sha256` it is for that card or that image only.")
	a.Attributes["card"] = attribute.ConsentToName("Serial number of the card, or else its node GUID.")
	a.Attributes["image_sha256"] = attribute.ConsentToName("SHA-256 of the image that is burned.")
	return a
}
