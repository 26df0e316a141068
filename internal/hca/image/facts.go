package image

import (
	"errors"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
	"github.com/ibfabric/terraform-provider-infiniband/internal/tool/mstflint"
)

// Facts turns what fwimage.Parse returned into what the verdict needs.
// name is what messages call the file; declared is the hash in the
// configuration, or empty.
func Facts(name, sha256, declared string, size int64, img *fwimage.Image, err error) safety.ImageFacts {
	f := safety.ImageFacts{Name: name, SHA256: sha256, Declared: declared, Size: size}
	if err != nil || img == nil {
		problem(&f, err)
		return f
	}
	f.Format, f.Failsafe = string(img.Format), img.Failsafe
	f.PSID, f.FW, f.HWIDs = img.PSID, img.FWVersion, img.HWIDs
	f.Release = img.ReleaseDate
	f.Product, f.PRSName = img.ProductVersion, img.PRSName
	for _, rom := range img.ROMs {
		f.ROM = append(f.ROM, mstflint.ROM{Type: rom.Type, Version: rom.Version, CPU: rom.CPU}.String())
	}
	f.Checksum = img.Checksum
	f.PartNumber, f.Remarks = img.PartNumber, img.Warnings
	if img.Format != fwimage.FS2 {
		// A ConnectX-3 has neither: its tool always writes the flash itself.
		f.Controlled, f.Security = img.Security.UpdateMethod() == safety.ByFirmware, img.Security.Version
		f.FlashLayout = safety.FlashLayout{Slot: img.Chunk, Version: img.Layout}
	}
	return f
}

// Identity gives the identity in an image in the form that the snapshot has for flash.
// In later chips the base stands for all GUIDs, and there is one MAC.
// Of one base GUID in all three places: what is compared has to have one form.
func Identity(img *fwimage.Image) ib.GUIDSet {
	g := img.GUIDs
	if img.Format == fwimage.FS2 {
		return g
	}
	return ib.GUIDSet{Node: g.Node, Port1: g.Node, SystemImage: g.Node, MAC1: g.MAC1}
}

// problems are what a refusal of fwimage is to a verdict.
var problems = map[fwimage.Problem]safety.ImageProblem{
	fwimage.NotAnImage: safety.ImageContainer, fwimage.Truncated: safety.ImageTruncated, fwimage.WrongCRC: safety.ImageCRC,
	fwimage.Malformed: safety.ImageMalformed, fwimage.NoHardware: safety.ImageNoHardware,
	fwimage.RawDump: safety.ImageRawDump, fwimage.Encrypted: safety.ImageEncrypted,
	fwimage.Unsupported: safety.ImageUnsupported,
}

// The words of fwimage become findings here, so that the parser knows nothing of verdicts.
func problem(f *safety.ImageFacts, err error) {
	var refused *fwimage.Error
	switch {
	case err == nil:
		f.Problem, f.Detail = safety.ImageUnreadable, "it was not read"
	case !errors.As(err, &refused):
		f.Problem, f.Detail = safety.ImageUnreadable, err.Error()
	default:
		f.Problem, f.Detail = problems[refused.Problem], err.Error()
		if refused.Problem == fwimage.NotAnImage {
			f.Kind, f.Advice, f.Detail = string(refused.Kind), sentence(refused.Advice), "nothing of an image in it"
		}
	}
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}
