//go:build linux

package reallab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/reallab/machine"
)

// cardsFile is the log of what the cards of a lab did.
const cardsFile = "cards.log"

// KeepLogs copies what the machines of a lab have printed and what its cards did out of the
// lab's directory, and gives the place. The directory ends with a test; a test that has
// failed has more to tell than its output holds. The name is the test's.
func KeepLogs(dir, name string) (string, error) {
	above := machine.Logs()
	if err := os.MkdirAll(above, 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return "", err
	}
	to, err := os.MkdirTemp(above, strings.Map(plain, name)+"-")
	if err != nil {
		return "", err
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != machine.ConsoleLog && e.Name() != cardsFile {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return copyFile(path, filepath.Join(to, inside))
	})
	// Who uploads it may be somebody else than who made it.
	return to, errors.Join(err, os.Chmod(to, 0o755)) //nolint:gosec // nothing in it is secret
}

// plain has a name be one of a file.
func plain(r rune) rune {
	if strings.ContainsRune("-_.", r) || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
		return r
	}
	return '_'
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err = os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // nothing in it is secret
		return err
	}
	return os.WriteFile(to, text, 0o644) //nolint:gosec // nothing in it is secret
}
