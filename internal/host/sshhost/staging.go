package sshhost

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/pkg/sftp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// stagingDir is where uploads wait for root, relative to the user's SFTP
// directory, which is the home directory.
const stagingDir = ".cache/terraform-provider-infiniband"

// awayDir is where they wait on a host whose user cannot write the home directory, as one that is
// not there, or whose root cannot read it, such as one on NFS with root_squash. Each has a directory
// of its own there, of which nobody knows the name before, because others can write there too.
const awayDir = "/var/tmp"

// upload is one file on its way.
type upload struct {
	r      io.ReaderAt
	size   int64
	file   host.RemoteFile
	nonce  string
	staged string // absolute path on the host, once it is known
	waits  int    // round trips of staging
	away   bool   // staged outside the home directory
	made   bool   // its directory there
}

// alone is the directory of an upload that is for it alone; empty in the home directory.
func (u *upload) alone() string {
	if !u.away {
		return ""
	}
	return awayDir + "/terraform-provider-infiniband-" + u.nonce
}

// name is how SFTP names the staged file.
func (u *upload) name() string {
	if u.away {
		return u.alone() + "/upload"
	}
	return stagingDir + "/upload-" + u.nonce
}

// place is how messages name the directory.
func (u *upload) place() string {
	if u.away {
		return awayDir
	}
	return "~/" + stagingDir
}

// create opens the staged file, and makes its directory if that is not there.
func (u *upload) create(client *sftp.Client) (*sftp.File, error) {
	// Truncated, not refused: a second attempt stages under the same name.
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if u.away {
		if !u.made {
			// One that is there already is somebody else's.
			if err := client.Mkdir(u.alone()); err != nil {
				return nil, fmt.Errorf("make %s: %w", u.alone(), err)
			}
			u.made = true
		}
		// mkdir of SFTP leaves the mode to the server's umask.
		if err := client.Chmod(u.alone(), 0o700); err != nil {
			return nil, fmt.Errorf("make %s private: %w", u.alone(), err)
		}
		return client.OpenFile(u.name(), flags)
	}
	f, err := client.OpenFile(u.name(), flags)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	for _, dir := range []string{path.Dir(stagingDir), stagingDir} {
		if client.Mkdir(dir) == nil { // fails if it exists, which is fine
			_ = client.Chmod(dir, 0o700)
		}
	}
	return client.OpenFile(u.name(), flags)
}

func (u *upload) temporary() string {
	dir, name := path.Split(u.file.Path)
	return dir + "." + name + "." + u.nonce + ".tmp"
}

// command is how messages name the upload.
func (u *upload) command() string { return "upload " + shellcmd.Quote(u.file.Path) }
