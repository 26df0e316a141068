package firmware

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/diagnostic"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// image finds the facts of the image that an argument names: from this plan's image
// resource, or else from the copy on the host.
func (r *Resource) image(ctx context.Context, at *session.CardAt, argument string, id attribute.ImageID,
	diags *diag.Diagnostics) (safety.ImageFacts, bool) {
	what := "plan firmware of card " + at.Ref.String()
	ref, err := attribute.ParseImageRef(id.ValueString())
	if err != nil {
		diagnostic.AddErrorAt(diags, path.Root(argument), what, err)
		return safety.ImageFacts{}, false
	}
	if ref.Host != at.Ref.Host {
		diags.AddAttributeError(path.Root(argument), "Refusing to "+what+": the image is on another host",
			"The image is staged on host "+ref.Host+", the card is in host "+at.Ref.Host+
				". An image must be staged on the host of the card that it is for.\n\n"+
				"Use an infiniband_firmware_image with host = \""+at.Ref.Host+"\".")
		return safety.ImageFacts{}, false
	}
	if img, ok := r.Planned.Image(ref); ok {
		return image.Facts(img.Name, img.SHA256, "", img.Size, img.Parsed, nil), true
	}
	if !at.Snap.Staged[ref.SHA256] {
		diags.AddAttributeError(path.Root(argument), "Unable to "+what+": the image is not on the host",
			"No image with this SHA-256 is staged on host "+ref.Host+
				", and no infiniband_firmware_image that this plan knows stages it.\n\n"+
				"Refer to the image resource by its id, so that Terraform stages it first. If there is none, as in an adopted "+
				"lab, remove image_id: the card keeps what it has.")
		return safety.ImageFacts{}, false
	}
	parsed, size, err := image.Open(ctx, at.Host, ref.SHA256)
	if err != nil && parsed == nil && diagnostic.IsTransport(err) {
		diagnostic.AddErrorAt(diags, path.Root(argument), what, err)
		return safety.ImageFacts{}, false
	}
	return image.Facts(ref.String(), ref.SHA256, "", size, parsed, err), true
}
