package firmwareimage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/fwimage"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hca"
	"github.com/ibfabric/terraform-provider-infiniband/internal/memo"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/tfkit"
	"github.com/ibfabric/terraform-provider-infiniband/internal/safety"
)

// imageFiles are the files read so far, by path.
type imageFiles = memo.Map[string, tfkit.ImageFile]

// readFile reads and verifies a local image file. The findings say what is
// wrong with it; the file is usable if none of them blocks. A file that a
// hundred hosts use is read once, and again when its size or time has changed;
// what is staged is compared with its hash once more, on the host.
func readFile(files *imageFiles, source, declared string) (file, []safety.Finding) {
	f := file{path: expandHome(source)}
	info, err := os.Stat(f.path)
	switch {
	case err != nil:
		return f, judge(f, declared, plainer(err))
	case !info.Mode().IsRegular():
		return f, judge(f, declared, fmt.Errorf("it is %s, not a file", kindOf(info.Mode())))
	}
	version := fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	read, err := files.Get(f.path, version, func() (tfkit.ImageFile, error) { return parseFile(f.path) })
	f.size, f.sha256, f.image = read.Size, read.SHA256, read.Parsed
	return f, judge(f, declared, err)
}

func parseFile(path string) (read tfkit.ImageFile, err error) {
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

func judge(f file, declared string, err error) []safety.Finding {
	facts := hca.ImageFacts(f.path, f.sha256, declared, f.size, f.image, err)
	found := append(safety.Image(facts), safety.Remarks(facts)...)
	for i := range found {
		// The catalogue speaks of the resource that burns; here it is the file.
		if found[i].Attribute == "image_id" {
			found[i].Attribute = "source"
		}
		if found[i].Code == "FW005" {
			found[i].Attribute = "sha256"
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

func expandHome(p string) string {
	rest, ok := strings.CutPrefix(p, "~/")
	if !ok {
		return p
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return p
	}
	return filepath.Join(home, rest)
}
