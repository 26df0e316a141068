package cards

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a new file on the operator's disk.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// createFile makes a file that did not exist, for its owner only.
func createFile(path string) (File, error) {
	// O_EXCL: a backup is never written over. For the owner only: an image has the identity of a card.
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// backupProblem says why a directory cannot take a backup; empty if it can. Only
// writing proves that a directory is writable, so one is made in it and removed.
func backupProblem(root string) string {
	if root == "" {
		return "" // a missing backup_dir has a finding of its own
	}
	dir, err := nearestDir(root)
	if err != nil {
		return err.Error()
	}
	probe, err := os.MkdirTemp(dir, ".terraform-provider-infiniband-")
	if err != nil {
		return fmt.Sprintf("no directory can be made in %s: %v", dir, systemError(err))
	}
	if err = os.Remove(probe); err != nil {
		return systemError(err).Error()
	}
	return ""
}

// nearestDir gives the directory itself or the nearest one above that is there.
func nearestDir(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			return dir, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a directory", dir)
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%s: %w", dir, systemError(err))
		}
		// Stat follows links. MkdirAll would make nothing behind one that leads nowhere.
		if _, err = os.Lstat(dir); err == nil {
			return "", fmt.Errorf("%s is a link to something that does not exist", dir)
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", fmt.Errorf("%s does not exist", dir)
		}
		dir = above
	}
}

// systemError drops the name of the system call from an error of os.
func systemError(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
