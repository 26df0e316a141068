package safety

import (
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
)

var problemCodes = map[ImageProblem]string{
	ImageUnreadable:  "FW001",
	ImageTruncated:   "FW002",
	ImageCRC:         "FW003",
	ImageContainer:   "FW004",
	ImageRawDump:     "FW006",
	ImageUnsupported: "FW010",
	ImageMalformed:   "FW012",
	ImageNoHardware:  "FW011",
	ImageEncrypted:   "FW014",
}

// Image gives the findings on a file alone, as the image resource and data
// source need them before any card is known.
func Image(img ImageFacts) []Finding {
	var found []Finding
	if img.Declared != "" && img.SHA256 != "" && !strings.EqualFold(img.Declared, img.SHA256) {
		found = append(found, find("FW005", "%s: declared %s, found %s", img.Name, strings.ToLower(img.Declared), img.SHA256))
	}
	if img.Problem != ImageOK {
		return append(found, imageProblem(img))
	}
	if _, err := ib.ParsePSID(img.PSID); err != nil {
		found = append(found, find("FW009", "%s: %v", img.Name, err))
	}
	if len(img.HWIDs) == 0 {
		found = append(found, find("FW011", "%s: the list of hardware ids is empty", img.Name))
	}
	if img.Identity == "unique" {
		found = append(found, find("FW013", "%s holds node GUID %s and MAC %s", img.Name, img.GUIDs.Node, img.GUIDs.MAC1))
	}
	return found
}

// Remarks gives what is unusual about a good image. It is said once, where the file
// is, and not again for every card that the image goes to.
func Remarks(img ImageFacts) []Finding {
	if img.Problem != ImageOK || len(img.Remarks) == 0 {
		return nil
	}
	return []Finding{find("FW015", "%s: %s", img.Name, strings.Join(img.Remarks, " "))}
}

// burnable gives the finding on a good image of a format that is never burned.
func burnable(img ImageFacts) []Finding {
	switch {
	case img.Problem != ImageOK:
		return nil
	case img.Format == "FS2", img.Format == "FS3", img.Format == "FS4":
		return nil
	}
	return []Finding{find("FW010", "%s is an %s image", img.Name, img.Format)}
}

func imageProblem(img ImageFacts) Finding {
	code, known := problemCodes[img.Problem]
	if !known {
		code = "FW001"
	}
	what := img.Detail
	if img.Kind != "" {
		what = "it is " + img.Kind + "; " + what
	}
	f := find(code, "%s: %s", img.Name, strings.TrimSuffix(what, "; "))
	if img.Advice != "" {
		f = f.way(img.Advice)
	}
	return f
}
