package sshhost

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pkg/sftp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// ProveTransfer starts the host's SFTP server, as an upload does, and asks it where files
// would go, and whether root could read them there. It writes nothing. The way is where
// files would be staged.
func (h *Host) ProveTransfer(ctx context.Context) (way string, err error) {
	l, err := h.connect(ctx)
	if err != nil {
		return "", err
	}
	client, done, err := openSFTP(ctx, l)
	if err == nil {
		defer done()
		way, err = h.proveWay(ctx, client)
	}
	switch {
	case err == nil:
		return way, nil
	case context.Cause(ctx) != nil:
		err = context.Cause(ctx)
	case !l.Lost():
		return "", h.transferError("upload", "~/"+stagingDir, err)
	default:
		err = l.Why()
	}
	return "", h.unreachable("upload", "", err)
}

// rulesScript tells whether root can read whatever a user keeps in the home directory $1, or
// else in $2. Root that can do the first may also write there. Root that a server of NFS takes
// for nobody may not. A read-only file system was asked for before.
const rulesScript = `[ -w "$1" ] && exit 0
[ -r "$2" ] && exit 1
echo "root can read neither $1 nor $2" >&2
exit 72
`

// proveWay finds out where a file can be staged for root.
func (h *Host) proveWay(ctx context.Context, client *sftp.Client) (string, error) {
	home, at, err := provePlace(client)
	if err != nil {
		return "", err
	}
	var exit *host.ExitError
	if _, err = h.Run(ctx, shellcmd.New("test", "-w", at)); errors.As(err, &exit) {
		return "SFTP, by way of " + awayDir + ": the user cannot write " + at, proveAway(client)
	}
	_, err = h.Run(ctx, shellcmd.Script("prove-staging", rulesScript, home, awayDir).AsRoot())
	if exit = nil; !errors.As(err, &exit) {
		return "SFTP", nil // whether the user can become root is said elsewhere
	}
	if exit.Status != 1 {
		return "", h.transferError("upload", awayDir, err)
	}
	return "SFTP, by way of " + awayDir + ": root cannot read the home directory " + home, proveAway(client)
}

func proveAway(client *sftp.Client) error {
	if st, err := client.StatVFS(awayDir); err == nil && st.Flag&readOnlyMount != 0 {
		return fmt.Errorf("%s: Read-only file system", awayDir)
	}
	return nil
}

// provePlace finds out what of the staging directory is there, and whether it can hold a file.
func provePlace(client *sftp.Client) (home, there string, err error) {
	if home, err = client.RealPath("."); err != nil || !path.IsAbs(home) {
		return "", "", errors.New("the SFTP server does not say where it stores files")
	}
	at := stagingDir
	for at != "." {
		if _, err := client.Stat(at); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", "", fmt.Errorf("~/%s: %w", at, err)
		}
		at = path.Dir(at)
	}
	return home, path.Join(home, at), nil
}

// readOnlyMount is ST_RDONLY of an answer of statvfs@openssh.com.
const readOnlyMount = 1
