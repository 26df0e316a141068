package safety

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
)

var imageRules = map[ImageProblem]*finding.Rule{
	ImageUnreadable:  finding.ImageUnreadable,
	ImageTruncated:   finding.ImageDamaged,
	ImageCRC:         finding.ImageDamaged,
	ImageContainer:   finding.ImageNotFirmware,
	ImageRawDump:     finding.ImageIsRawDump,
	ImageUnsupported: finding.ImageFormatUnsupported,
	ImageMalformed:   finding.ImageMalformed,
	ImageNoHardware:  finding.ImageWithoutHardwareID,
	ImageEncrypted:   finding.ImageEncrypted,
}

// Image gives the findings on a file alone, as the image resource and data
// source need them before any card is known.
func Image(img ImageFacts) []finding.Finding {
	var found []finding.Finding
	if img.Declared != "" && img.SHA256 != "" && !strings.EqualFold(img.Declared, img.SHA256) {
		found = append(found, finding.ImageHashDiffers.Find("%s: declared %s, found %s", img.Name,
			strings.ToLower(img.Declared), img.SHA256))
	}
	if img.Problem != ImageOK {
		return append(found, imageProblem(img))
	}
	if img.PSID == "" {
		found = append(found, finding.ImageWithoutPSID.Find("%s: its PSID is empty", img.Name))
	}
	if len(img.HWIDs) == 0 {
		found = append(found, finding.ImageWithoutHardwareID.Find("%s: the list of hardware ids is empty", img.Name))
	}
	return found
}

// Remarks gives what is unusual about a good image. It is said once, at the image, and
// not for every card that gets it.
func Remarks(img ImageFacts) []finding.Finding {
	if img.Problem != ImageOK || len(img.Remarks) == 0 {
		return nil
	}
	return []finding.Finding{finding.ImageUnusual.Find("%s: %s", img.Name, strings.Join(img.Remarks, " "))}
}

// burnable gives the finding on a good image of a format that is never burned.
func burnable(img ImageFacts) []finding.Finding {
	switch {
	case img.Problem != ImageOK:
		return nil
	case img.Format == "FS2", img.Format == "FS3", img.Format == "FS4":
		return nil
	}
	return []finding.Finding{finding.ImageFormatUnsupported.Find("%s is an %s image", img.Name, img.Format)}
}

func imageProblem(img ImageFacts) finding.Finding {
	rule, known := imageRules[img.Problem]
	if !known {
		rule = finding.ImageUnreadable
	}
	what := img.Detail
	if img.Kind != "" {
		what = "it is " + img.Kind + "; " + what
	}
	f := rule.Find("%s: %s", img.Name, strings.TrimSuffix(what, "; "))
	if img.Advice != "" {
		f = f.WithWayOut(img.Advice)
	}
	return f
}
