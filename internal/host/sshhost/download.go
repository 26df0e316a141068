package sshhost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// sendScript prints the size and SHA-256 of $1 in one line, and then its bytes.
// It streams through the command's output, because SFTP reads as the user.
const sendScript = `set -u
[ ! -d "$1" ] || { printf '%s\n' "$1 is a directory" >&2; exit 70; }
sum=$(sha256sum <"$1") || exit 71
size=$(wc -c <"$1") || exit 71
printf '%s %s\n' "$((size))" "${sum%% *}"
cat "$1"
`

// Download copies a file that root can read. If it fails, w may have got a part
// of it.
func (h *Host) Download(ctx context.Context, name string, w io.Writer) (int64, string, error) {
	in := &incoming{w: w, hash: sha256.New()}
	size, sum, turns, err := h.download(ctx, name, in)
	h.trace(host.Event{Kind: "download", What: name, RoundTrips: turns, Err: err})
	if err != nil {
		return 0, "", err
	}
	return size, sum, nil
}

func (h *Host) download(ctx context.Context, name string, in *incoming) (int64, string, int, error) {
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return 0, "", 0, h.transferError("download", name, fmt.Errorf("%q is not an absolute path", name))
	}
	_, turns, err := h.run(ctx, nil, shellcmd.Script("send-file", sendScript, name).AsRoot(), in)
	if in.err != nil {
		return 0, "", turns, h.transferError("download", name, in.err)
	}
	var gone *host.UnreachableError
	var exit *host.ExitError
	switch {
	case errors.As(err, &gone):
		if gone.Op == "run" {
			gone.Op = "download"
		}
		return 0, "", turns, err
	case errors.As(err, &exit):
		return 0, "", turns, h.transferError("download", name, err)
	case err != nil:
		return 0, "", turns, err
	}
	if err := in.verify(); err != nil {
		return 0, "", turns, h.transferError("download", name, err)
	}
	return in.size, in.sum, turns, nil
}

// incoming takes the header line off, and counts and hashes what follows.
type incoming struct {
	w    io.Writer
	hash hash.Hash
	err  error // of w, or a malformed header

	header []byte
	size   int64
	sum    string
	got    int64
}

// maxDownload bounds one file: what is fetched are flash contents, of 32 MiB at most,
// and images, which some callers hold in memory.
const maxDownload = 256 << 20

// maxHeader bounds the line with size and hash.
const maxHeader = 128

func (in *incoming) Write(p []byte) (int, error) {
	n := len(p)
	if in.sum == "" {
		in.header = append(in.header, p...)
		line, rest, ok := bytes.Cut(in.header, []byte("\n"))
		if !ok && len(in.header) <= maxHeader {
			return n, nil
		}
		if err := in.parse(string(line)); err != nil {
			in.err = err
			return 0, fmt.Errorf("%w: %w", errSink, err)
		}
		p = rest
	}
	// Before it is written: a log that grows would fill the operator's disk.
	if in.got += int64(len(p)); in.got > in.size {
		in.err = fmt.Errorf("the host sent more than the %d bytes that it announced; the file may be growing", in.size)
		return 0, fmt.Errorf("%w: %w", errSink, in.err)
	}
	in.hash.Write(p)
	if _, err := in.w.Write(p); err != nil {
		in.err = fmt.Errorf("the copy on this machine cannot be written: %w", err)
		return 0, fmt.Errorf("%w: %w", errSink, in.err)
	}
	return n, nil
}

func (in *incoming) parse(line string) error {
	size, sum, _ := strings.Cut(line, " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n < 0 || !hexSHA256.MatchString(sum) {
		return fmt.Errorf("size and SHA-256 expected from the host, got %.*q", maxHeader, line)
	}
	if n > maxDownload {
		return fmt.Errorf("the host announces a file of %d bytes; at most %d are taken", n, maxDownload)
	}
	in.size, in.sum = n, sum
	return nil
}

func (in *incoming) verify() error {
	switch sum := hex.EncodeToString(in.hash.Sum(nil)); {
	case in.sum == "":
		return errors.New("the host sent no size and SHA-256")
	case in.got != in.size:
		return fmt.Errorf("%d of %d bytes arrived; the file may be changing", in.got, in.size)
	case sum != in.sum:
		return fmt.Errorf("the SHA-256 of the copy is %s, that of the file on the host %s; the file may be changing", sum,
			in.sum)
	}
	return nil
}
