package fabricfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ibfabric/terraform-provider-infiniband/internal/atomicfile"
	"github.com/ibfabric/terraform-provider-infiniband/internal/provider/attribute"
)

// largest bounds what is read: a picture of 500 links has less than 1 MiB, and an
// engine takes no message above 64 MiB.
const largest = 16 << 20

// place is where a file of the configuration is on this machine.
func place(filePath string) string { return filepath.Clean(attribute.ExpandHome(filePath)) }

// whole is a place without the links of its directories, the same for all spellings. A
// link in the place of the file itself stays: it is no file, see look.
func whole(filePath string) string {
	at, err := filepath.Abs(place(filePath))
	if err != nil {
		return place(filePath) // there is no working directory
	}
	below := filepath.Base(at)
	for dir := filepath.Dir(at); ; dir = filepath.Dir(dir) {
		if found, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(found, below)
		}
		if dir == filepath.Dir(dir) {
			return at
		}
		below = filepath.Join(filepath.Base(dir), below) // it is made when the file is written
	}
}

// samePlace reports whether two spellings name one place.
func samePlace(a, b string) bool { return whole(a) == whole(b) }

// look gives the digest of a file; os.ErrNotExist if there is none.
func look(filePath string) (string, error) {
	at := place(filePath)
	info, err := os.Lstat(at)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is %s, not a file; move it away, or choose another file_path", at, kindOf(info.Mode()))
	case info.Size() > largest:
		return "", fmt.Errorf("%s has %d MiB; a file of more than %d MiB was not written here; move it away, or choose "+
			"another file_path", at, info.Size()>>20, largest>>20)
	}
	content, err := os.ReadFile(at)
	return digest(content), err
}

func kindOf(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&os.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}

// replace writes a file and the directories above it.
func replace(filePath, content string) error {
	at := place(filePath)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil { //nolint:gosec // all may read it, like the file
		return err
	}
	return atomicfile.Write(at, []byte(content))
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
