package sshhost

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/sftp"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/host/sshhost/sshconn"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// installScript moves a staged file to its place as root: $1 staged file,
// $2 target, $3 size, $4 SHA-256, $5 mode, $6 temporary name beside the target,
// $7 directory of the staged file if that is for it alone.
//
// The copy is hashed, not the staged file: the staged one belongs to the user,
// who could change it in between. A new inode also ends the user's ownership.
// On a failure the last line is ours, with what the tool has said.
// Directories on the way are for everybody (022), the copy is root's alone until it has its mode (077). It is on
// the disk before it gets its name, and the name before the script ends: a power cut leaves the old file or the
// new one.
const installScript = `set -u
staged=$1 target=$2 size=$3 want=$4 mode=$5 temp=$6 alone=$7
clean() {
	rm -f "$temp" "$staged" 2>/dev/null
	[ -z "$alone" ] || rmdir "$alone" 2>/dev/null
}
fail() { clean; printf '%s\n' "$1" >&2; exit "${2:-70}"; }
must() {
	words=$1
	shift
	said=$("$@" 2>&1) || fail "$words${said:+: $(printf %s "$said" | tr '\n' ' ')}"
}
[ -r "$staged" ] || fail "root cannot read $staged, which the user has staged" 72
dir=${target%/*}/
umask 022
must "cannot make the directory $dir" mkdir -p "$dir"
umask 077
[ ! -d "$target" ] || fail "$target is a directory"
must "cannot write in $dir" cp "$staged" "$temp"
[ "$(wc -c <"$temp")" -eq "$size" ] || fail "only $(wc -c <"$temp") of $size bytes arrived"
have=$(sha256sum <"$temp") || fail "cannot hash $temp"
[ "${have%% *}" = "$want" ] || fail "the SHA-256 on the host is ${have%% *}, not $want"
must "cannot set the mode of $temp" chmod "$mode" "$temp"
must "cannot give $temp to root" chown 0:0 "$temp"
must "cannot bring $temp to the disk" sync "$temp"
must "cannot put $temp in place" mv -f "$temp" "$target"
sync "$dir"
clean
exit 0
`

// Upload writes a file as root: staged by the user over SFTP, hashed and moved
// on the host. Nothing of it is left if it fails, unless the host is out of
// reach then; what was at the path before stays.
func (h *Host) Upload(ctx context.Context, r io.ReaderAt, size int64, file host.RemoteFile) error {
	if h.cfg.Observe {
		return &host.ObserveError{Host: h.name, Command: "upload " + shellcmd.Quote(file.Path)}
	}
	u := &upload{r: r, size: size, file: file}
	err := u.check()
	turns := 0
	if err == nil {
		turns, err = h.uploadByWay(ctx, u)
	}
	var bad *host.TransferError
	var gone *host.UnreachableError
	if err != nil && !errors.As(err, &bad) && !errors.As(err, &gone) {
		err = h.transferError("upload", file.Path, err)
	}
	h.trace(host.Event{Kind: "upload", What: file.Path, RoundTrips: turns, Err: err})
	return err
}

func (u *upload) check() error {
	switch {
	case !path.IsAbs(u.file.Path) || path.Clean(u.file.Path) != u.file.Path || u.file.Path == "/" ||
		strings.ContainsRune(u.file.Path, 0):
		return fmt.Errorf("%q is not the absolute path of a file", u.file.Path)
	case !hexSHA256.MatchString(u.file.SHA256):
		return fmt.Errorf("%q is not a SHA-256 in lower-case hexadecimal", u.file.SHA256)
	case u.file.Mode > 0o7777:
		return fmt.Errorf("mode %o holds more than permission bits", u.file.Mode)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by the contract of crypto/rand
	u.nonce = hex.EncodeToString(b[:])
	return nil
}

// uploadByWay stages in the home directory, or outside it on a host whose user cannot write
// there, or whose root cannot read there.
func (h *Host) uploadByWay(ctx context.Context, u *upload) (turns int, err error) {
	defer func() { turns += u.waits }()
	u.away = h.away.Load()
	turns, err = h.upload(ctx, u)
	var exit *host.ExitError
	unread, unwritten := errors.As(err, &exit) && exit.Status == notReadable, errors.Is(err, errHome)
	if u.away || !unread && !unwritten {
		return turns, err
	}
	h.sweep(ctx, u) // root could not remove the file either
	u.away, u.staged = true, ""
	more, awayErr := h.upload(ctx, u)
	if awayErr == nil {
		h.away.Store(true)
	} else if unwritten {
		return turns + more, err // the home directory is what somebody mends
	}
	return turns + more, awayErr
}

// errHome is a home directory that does not take a file.
var errHome = errors.New("is not writable")

func (h *Host) upload(ctx context.Context, u *upload) (turns int, err error) {
	var early *sshconn.EarlyShell
	defer func() { early.Drop() }()
	for try := 1; ; try++ {
		var l *sshconn.Conn
		if l, err = h.connect(ctx); err != nil {
			return turns, withCommand(err, u.command())
		}
		early.Drop()
		early = sshconn.StartEarly(ctx, l)
		if err = h.stage(ctx, l, u); err == nil {
			break
		}
		// Staging again under the same name is harmless, so a connection that
		// proves dead is worth a second one.
		if ctx.Err() != nil || !l.LostSoon() || try > 1 {
			h.sweep(ctx, u)
			return turns, h.stageError(ctx, l, u, err)
		}
	}
	cmd := shellcmd.Script("install-upload", installScript, u.staged, u.file.Path,
		strconv.FormatInt(u.size, 10), u.file.SHA256, "0"+strconv.FormatUint(uint64(u.file.Mode),
			8), u.temporary(), u.alone()).AsRoot().Changes()
	_, more, err := h.run(ctx, early, host.Noted(ctx, cmd), &limitedBuffer{max: 1 << 20})
	if turns += more; err == nil {
		return turns, nil
	}
	var exit *host.ExitError
	if errors.As(err, &exit) { // the script has cleaned up
		return turns, h.transferError("upload", u.file.Path, err)
	}
	h.sweep(ctx, u)
	var gone *host.UnreachableError
	if errors.As(err, &gone) && gone.Op == "run" {
		gone.Op = "upload"
	}
	var refused *host.PrivilegeError
	if errors.As(err, &refused) {
		return turns, &host.TransferError{Host: h.name, Op: "upload", Path: u.file.Path, Advice: refused.Advice, Err: err}
	}
	return turns, err
}

// stage writes the file into the user's staging directory.
func (h *Host) stage(ctx context.Context, l *sshconn.Conn, u *upload) error {
	client, done, err := openSFTP(ctx, l)
	if err != nil {
		return err
	}
	defer done()
	u.waits += 5 // the session, its SFTP server, the protocol's version, the file, its bytes
	// Both answers come in the round trip of one.
	home := make(chan string, 1)
	go func() {
		dir, _ := client.RealPath(".") // empty if the server does not say
		home <- dir
	}()
	f, err := u.create(client)
	if err != nil {
		return fmt.Errorf("the staging directory %s %w: %w", u.place(), errHome, err)
	}
	dir := <-home
	if !path.IsAbs(dir) {
		_ = f.Close()
		return errors.New("the SFTP server does not say where it stores files")
	}
	if u.staged = u.name(); !u.away {
		u.staged = path.Join(dir, u.staged)
	}
	// One request at a time would move 32 KiB per round trip.
	// Writes in flight may leave holes after an error, which the hash on the host would find.
	n, err := f.ReadFromWithConcurrency(io.NewSectionReader(u.r, 0, u.size), 64)
	if err == nil && n != u.size {
		err = fmt.Errorf("the source has %d bytes, not %d", n, u.size)
	}
	if err != nil {
		err = noSpace(client, u, err)
		_ = f.Close()
		_ = client.Remove(u.name())
		if u.away && client.RemoveDirectory(u.alone()) == nil {
			u.made = false
		}
		return err
	}
	go func() { _ = f.Close() }() // the server has every byte; what is left is its file handle
	return nil
}

// noSpace says that the disk is full, if it is: SFTP itself only says "Failure".
func noSpace(client *sftp.Client, u *upload, err error) error {
	var status *sftp.StatusError
	if !errors.As(err, &status) {
		return err
	}
	if st, statErr := client.StatVFS(path.Dir(u.name())); statErr == nil && st.FreeSpace() < uint64(u.size) {
		return fmt.Errorf("%w: %d bytes are free in %s, %d are needed: %w", errNoSpace, st.FreeSpace(), u.place(), u.size,
			err)
	}
	return err
}

// stageError names why staging failed.
func (h *Host) stageError(ctx context.Context, l *sshconn.Conn, u *upload, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else if l.Lost() {
		err = l.Why()
	} else {
		return h.transferError("upload", u.file.Path, err)
	}
	e := h.unreachable("upload", u.command(), err)
	e.Advice = "The file at its place is untouched."
	return e
}

// sweepLimit bounds the attempt to clean up after a failure.
const sweepLimit = 5 * time.Second

// sweep removes what an upload may have left, if the host can be reached soon.
func (h *Host) sweep(ctx context.Context, u *upload) {
	if u.staged == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepLimit)
	defer cancel()
	// As the user: the staged file is the user's, and root may be out of reach.
	staged := shellcmd.New("rm", "-f", u.staged)
	if u.away {
		staged = shellcmd.New("rm", "-rf", u.alone())
	}
	_, _, _ = h.run(ctx, nil, staged.Changes(), &limitedBuffer{max: 1 << 16})
	_, _, _ = h.run(ctx, nil, shellcmd.New("rm", "-f", u.temporary()).AsRoot().Changes(), &limitedBuffer{max: 1 << 16})
}
