// Package rollback judges the image that stands for a copy of a flash which secure firmware
// lets no tool read. It agrees with all that the card says of itself, and may still be other
// bytes: a fingerprint, and no copy.
//
// It must not give a verdict, nor say that a card may be written.
package rollback

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fact"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Image is what is compared of an image.
type Image struct {
	Name, SHA256 string
	ib.Firmware
	HWIDs            []ib.HWID
	Product, Release string
	ROM              []string // each as mstflint prints it: "type=PXE version=3.4.752 cpu=AMD64"
	// Security is the version below which firmware that has run may refuse to go.
	Security   uint32
	Controlled bool // signed, so that mstflint has the running firmware write it
}

// Consent allows one burn without a copy of the flash: of this card, with this image as the way
// back, of that image.
type Consent struct{ Card, Rollback, Image string }

// Input is everything that the findings depend on.
type Input struct {
	Card    string // the serial number, or else the node GUID
	Flash   inventory.Flash
	HWID    fact.Of[ib.HWID]
	Now     Image // that goes back
	New     Image // that is burned
	Consent Consent
}

// Check gives the findings on a burn that has no way back but an image.
func Check(in Input) []finding.Finding {
	for _, img := range []Image{in.New, in.Now} {
		if !img.Controlled {
			return []finding.Finding{in.refusal().Find("%s has no signature: the firmware of the card would not write it",
				img.Name)}
		}
	}
	if in.New.PSID != in.Flash.PSID {
		return []finding.Finding{in.refusal().Find("In flash: %s. In the image: %s.",
			cmp.Or(in.Flash.PSID, "no PSID"), in.New.PSID)}
	}
	if wrong := differences(in); len(wrong) > 0 {
		return []finding.Finding{finding.RollbackDiffers.Find("%s: %s", in.Now.Name, strings.Join(wrong, "; "))}
	}
	if in.New.Security > in.Now.Security {
		return []finding.Finding{finding.RollbackClosed.Find("Security version of %s: %d. Of %s, which is to be the way "+
			"back: %d.", in.New.Name, in.New.Security, in.Now.Name, in.Now.Security)}
	}
	return []finding.Finding{consented(in)}
}

// refusal is the rule on an image that the firmware of the card does not take.
func (in Input) refusal() *finding.Rule {
	if in.Flash.ByDriver {
		return finding.ImageNotForDriver
	}
	return finding.FirmwareSecure
}

// differences are what the card says of itself and the image does not say.
func differences(in Input) (wrong []string) {
	flash, img := in.Flash, in.Now
	compared := []struct{ what, card, image string }{
		{"PSID", flash.PSID.String(), img.PSID.String()},
		{"version", flash.FW.String(), img.FW.String()},
		{"release date", flash.ReleaseDate, img.Release},
		{"product version", flash.ProductVersion, img.Product},
		{"boot ROM", roms(flash.ROM), roms(img.ROM)},
	}
	if flash.ByDriver {
		compared = compared[:2]
	}
	for _, c := range compared {
		if c.card != c.image {
			wrong = append(wrong, fmt.Sprintf("%s of the card %s, of the image %s", c.what, cmp.Or(c.card, "none"),
				cmp.Or(c.image, "none")))
		}
	}
	if id, known := in.HWID.Get(); !known || !slices.Contains(img.HWIDs, id) {
		wrong = append(wrong, "the image does not name the hardware id of the card")
	}
	if running := flash.RunningFW; !running.IsZero() && running != flash.FW {
		wrong = append(wrong, "the card still runs "+running.String()+", and an image waits for its restart")
	}
	return wrong
}

// roms is the same text for the same boot ROMs.
func roms(list []string) string {
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return strings.Join(sorted, ", ")
}

// consented is the finding that nothing proves the way back.
func consented(in Input) finding.Finding {
	want := Consent{Card: in.Card, Rollback: in.Now.SHA256, Image: in.New.SHA256}
	agrees := "PSID, hardware id, version, release date, product version and boot ROM"
	if in.Flash.ByDriver {
		agrees = "PSID, chip and version, which is all that its driver tells"
	}
	f := finding.FlashWithoutCopy.Find("Card %s has %s %s. The way back is %s: it agrees with the card in %s. It is a "+
		"fingerprint, and no copy.", in.Card, in.Flash.PSID, in.Flash.FW, in.Now.Name, agrees)
	f = f.WithConsent(f.Rule.ConsentLine(fmt.Sprintf("{ card = %s, rollback_sha256 = %s, image_sha256 = %s }",
		strconv.Quote(want.Card), strconv.Quote(want.Rollback), strconv.Quote(want.Image))))
	switch in.Consent {
	case want:
		return f.AsGranted("Burn without a copy of the flash, as allowed")
	case Consent{}:
	default:
		f.Summary = f.Rule.ConsentName() + " names another card or image than the one observed"
	}
	return f
}
