package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pkg/sftp"
)

// ProveTransfer starts the host's SFTP server, as an upload does, and asks it where files
// would go. It writes nothing.
func (h *Host) ProveTransfer(ctx context.Context) error {
	l, err := h.connect(ctx)
	if err != nil {
		return err
	}
	client, done, err := openSFTP(ctx, l)
	if err == nil {
		defer done()
		err = provePlace(client)
	}
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) != nil:
		err = context.Cause(ctx)
	case !l.lost():
		return h.transferError("upload", "~/"+stagingDir, err)
	default:
		err = l.why
	}
	return h.unreachable("upload", "", err)
}

// provePlace finds out whether the staging directory can hold a file.
func provePlace(client *sftp.Client) error {
	if home, err := client.RealPath("."); err != nil || !path.IsAbs(home) {
		return errors.New("the SFTP server does not say where it stores files")
	}
	at := stagingDir
	for at != "." {
		if _, err := client.Stat(at); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("~/%s: %w", at, err)
		}
		at = path.Dir(at)
	}
	if st, err := client.StatVFS(at); err == nil && st.Flag&readOnlyMount != 0 {
		return fmt.Errorf("~/%s: Read-only file system", at)
	}
	return nil // not every server answers for the file system
}

// readOnlyMount is ST_RDONLY of an answer of statvfs@openssh.com.
const readOnlyMount = 1
