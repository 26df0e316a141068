package sshhost

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// installScript moves a staged file to its place as root: $1 staged file,
// $2 target, $3 size, $4 SHA-256, $5 mode, $6 temporary name beside the target,
// $7 directory of the staged file if that is for it alone.
//
// The copy is hashed, not the staged file: the staged one belongs to the user,
// who could change it in between. A new inode also ends the user's ownership.
// On a failure the last line is ours, with what the tool has said.
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

// notReadable is the status of installScript where root cannot read what the user has
// staged: homes on NFS with root_squash.
const notReadable = 72

var hexSHA256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

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

// Upload writes a file as root: staged by the user over SFTP, hashed and moved
// on the host. Nothing of it is left if it fails, unless the host is out of
// reach then; what was at the path before stays.
func (h *Host) Upload(ctx context.Context, r io.ReaderAt, size int64, file host.RemoteFile) error {
	if h.cfg.Observe {
		return &host.ObserveError{Host: h.name, Command: "upload " + shellcmd.Quote(file.Path)}
	}
	begin := time.Now()
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
	h.trace(Event{Kind: "upload", What: file.Path, Duration: time.Since(begin), RoundTrips: turns, Err: err})
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

// uploadByWay stages in the home directory, or outside it on a host whose root cannot read
// there.
func (h *Host) uploadByWay(ctx context.Context, u *upload) (turns int, err error) {
	defer func() { turns += u.waits }()
	u.away = h.away.Load()
	turns, err = h.upload(ctx, u)
	var exit *host.ExitError
	if u.away || !errors.As(err, &exit) || exit.Status != notReadable {
		return turns, err
	}
	h.sweep(ctx, u) // root could not remove the file either
	u.away, u.staged = true, ""
	more, err := h.upload(ctx, u)
	if err == nil {
		h.away.Store(true)
	}
	return turns + more, err
}

func (h *Host) upload(ctx context.Context, u *upload) (turns int, err error) {
	var early *earlyShell
	defer func() { early.drop() }()
	for try := 1; ; try++ {
		var l *link
		if l, err = h.connect(ctx); err != nil {
			return turns, withCommand(err, u.command())
		}
		early.drop()
		early = startEarly(ctx, l)
		if err = h.stage(ctx, l, u); err == nil {
			break
		}
		// Staging again under the same name is harmless, so a connection that
		// proves dead is worth a second one.
		if ctx.Err() != nil || !l.lostSoon() || try > 1 {
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

func (u *upload) temporary() string {
	dir, name := path.Split(u.file.Path)
	return dir + "." + name + "." + u.nonce + ".tmp"
}

// command is how messages name the upload.
func (u *upload) command() string { return "upload " + shellcmd.Quote(u.file.Path) }

// stage writes the file into the user's staging directory.
func (h *Host) stage(ctx context.Context, l *link, u *upload) error {
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
		return fmt.Errorf("the staging directory %s is not writable: %w", u.place(), err)
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

var errNoSpace = errors.New("no space left on the host")

// openSFTP starts the host's SFTP server on a session of the connection.
func openSFTP(ctx context.Context, l *link) (*sftp.Client, func(), error) {
	ch, err := l.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	go ssh.DiscardRequests(ch.requests)
	stop := context.AfterFunc(ctx, func() { _ = ch.Close() })
	ok, err := ch.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	if err == nil && !ok {
		err = errors.New("the host's SSH server offers no SFTP; add `Subsystem sftp internal-sftp` to its sshd_config")
	}
	var client *sftp.Client
	if err == nil {
		first := &firstBytes{Reader: ch}
		client, err = sftp.NewClientPipe(first, halfClose{ch})
		err = first.explain(err)
	}
	if err != nil {
		stop()
		ch.shut()
		return nil, nil, err
	}
	return client, func() {
		stop()
		// Nothing of value is in flight; nobody need wait for the server's farewell.
		go func() { _ = client.Close(); ch.shut() }()
	}, nil
}

// firstBytes remembers how an answer begins.
type firstBytes struct {
	io.Reader
	begin []byte
}

func (f *firstBytes) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	f.begin = append(f.begin, p[:min(n, noiseLimit-len(f.begin))]...)
	return n, err
}

// noiseLimit bounds what is shown of text in front of the protocol.
const noiseLimit = 200

// errNoise says that something else than SFTP answered. ssh calls it "Received
// message too long": the text is taken for a length.
var errNoise = errors.New("the login shell prints text before the file transfer begins")

// explain tells a login shell that prints from a broken server: a packet begins with
// its length, whose first byte is zero.
func (f *firstBytes) explain(err error) error {
	if err == nil || len(f.begin) == 0 || f.begin[0] == 0 {
		return err
	}
	return fmt.Errorf("%w: %q", errNoise, f.begin)
}

// halfClose ends the client's side of a channel and lets the answers come.
type halfClose struct{ *channel }

func (c halfClose) Close() error { return c.CloseWrite() }

// stageError names why staging failed.
func (h *Host) stageError(ctx context.Context, l *link, u *upload, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	} else if l.lost() {
		err = l.why
	} else {
		return h.transferError("upload", u.file.Path, err)
	}
	e := h.unreachable("upload", u.command(), err)
	e.Advice = "The file at its place is untouched."
	return e
}

// transferError is the error for a file that a host that answers did not take
// or give.
func (h *Host) transferError(op, name string, err error) *host.TransferError {
	e := &host.TransferError{Host: h.name, Op: op, Path: name, Err: err}
	text := err.Error()
	var exit *host.ExitError
	if errors.As(err, &exit) {
		text = exit.Stderr
		// The script's own sentence comes last, after the tool's.
		lines := strings.Split(strings.TrimSpace(text), "\n")
		e.Err = &scriptError{lines[len(lines)-1], exit}
		if exit.Status == notReadable {
			e.Advice = rootNeedsToRead
		}
	}
	switch {
	case errors.Is(err, errNoise):
		e.Advice = fmt.Sprintf("A start-up file of the user %s on the host, such as ~/.bashrc or ~/.zshenv, prints "+
			"something in every session. "+
			"Let it print only in interactive sessions: put `case $- in *i*) ;; *) return ;; esac` at its beginning. Or use "+
			"`Subsystem sftp internal-sftp` in sshd_config.", h.target().user)
	case errors.Is(err, errNoSpace) || strings.Contains(text, "No space left") || strings.Contains(text, "quota exceeded"):
		e.Advice = "The file system is full. An upload needs its size in the home directory and again at its place."
		if !errors.Is(err, errNoSpace) {
			e.Err = fmt.Errorf("%w: %w", errNoSpace, e.Err)
		}
	case strings.Contains(text, "Read-only file system"):
		e.Advice = "The file system is read-only, as the system directories of an appliance are."
	case strings.HasSuffix(strings.TrimSpace(text), " is a directory"):
		e.Advice = "A directory is at this path. Look what is in it and move it away, then apply again."
	case strings.Contains(text, "SHA-256"):
		e.Advice = "The file changed on its way, or on this machine since it was hashed. Nothing was put in place."
	}
	return e
}

// scriptError is a script's failure told by its own last words.
type scriptError struct {
	words string
	exit  *host.ExitError
}

func (s *scriptError) Error() string { return s.words }
func (s *scriptError) Unwrap() error { return s.exit }

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
