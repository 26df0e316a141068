package firmwareimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ibfabric/terraform-provider-infiniband/internal/download"
	"github.com/ibfabric/terraform-provider-infiniband/internal/finding"
	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca/image"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/session"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// largestImage is four times the largest flash of these cards. Disk images and
// archives are refused by their size: to read and hash one takes minutes.
const largestImage = 256 << 20

// imageFiles are the files read so far, by path.
type imageFiles = memo.Map[string, session.ImageFile]

// downloads keeps what was fetched or unpacked, by its hash.
var downloads download.Folder

// readFile reads and verifies an image file, which it fetches or unpacks first where that is
// asked for. The findings say what is wrong with it; the file is usable if none of them blocks. A
// file that a hundred hosts use is read once, and again when its size or time has changed;
// what is staged is compared with its hash once more, on the host.
func readFile(ctx context.Context, files *imageFiles, want asked) (file, []finding.Finding) {
	f := file{path: attribute.ExpandHome(want.Address)}
	f.name = f.path
	if want.Member != "" {
		f.name += ", " + want.Member
	}
	if want.Member != "" || download.IsRemote(want.Address) {
		var err error
		want.Address = f.path
		if f.path, err = downloads.Get(ctx, want.Source); err != nil {
			return f, judge(f, asked{}, err)
		}
	}
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return f, judge(f, want, plainer(err))
	case !info.Mode().IsRegular():
		return f, judge(f, want, fmt.Errorf("it is %s, not a file", kindOf(info.Mode())))
	case info.Size() > largestImage:
		return f, judge(f, want, fmt.Errorf("it has %d MiB; no firmware image has more than %d MiB, so it was not read",
			info.Size()>>20, largestImage>>20))
	}
	version := fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	read, err := files.Get(f.path, version, func() (session.ImageFile, error) { return parseFile(f.path) })
	f.size, f.sha256, f.image = read.Size, read.SHA256, read.Parsed
	return f, judge(f, want, err)
}

func parseFile(path string) (read session.ImageFile, err error) {
	content, err := os.Open(path)
	if err != nil {
		return read, plainer(err)
	}
	defer content.Close() //nolint:errcheck // only read
	info, err := content.Stat()
	if err != nil {
		return read, err
	}
	read.Size = info.Size()
	if read.SHA256, err = hash(content); err == nil {
		read.Parsed, err = fwimage.Parse(content, read.Size)
	}
	return read, err
}

func judge(f file, want asked, err error) []finding.Finding {
	facts := image.Facts(f.name, f.sha256, want.SHA256, f.size, f.image, err)
	found := append(safety.Image(facts), safety.Remarks(facts)...)
	if facts.Problem == safety.ImageOK {
		found = append(found, declared(f, want)...)
	}
	for i := range found {
		// The catalogue speaks of the resource that burns; here it is the file.
		if found[i].Attribute == "image_id" {
			found[i].Attribute = "source"
		}
		if found[i].Rule == finding.ImageHashDiffers {
			found[i].Attribute = "sha256"
		}
	}
	return found
}

// declared compares the image with what the configuration says that it is.
func declared(f file, want asked) []finding.Finding {
	var found []finding.Finding
	for _, v := range []struct{ name, want, is string }{{"psid", want.PSID, f.image.PSID.String()},
		{"version", want.Version, f.image.FWVersion.String()}} {
		if v.want != "" && v.want != v.is {
			found = append(found, finding.ImageNotAsDeclared.Find("%s: %s is %s, declared %s", f.name, v.name, v.is,
				v.want).At(v.name))
		}
	}
	return found
}

func hash(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// plainer drops the system call that os names in front of the path.
func plainer(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

func kindOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "a directory"
	}
	return "a special file"
}
