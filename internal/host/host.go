// Package host says what a host is to the rest of the provider: something that
// runs commands, takes and gives files, and can be reached anew. It holds the
// three kinds of failure that are never confused.
//
// It must not dial, know a tool's output, or import Terraform.
package host

import (
	"context"
	"io"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Result is what a command that ran and exited 0 printed.
type Result struct {
	Stdout, Stderr []byte
	Sudo           time.Duration // until sudo had started the command
}

// Host is one machine. Implementations are safe for concurrent use.
type Host interface {
	// Name is the key of the provider's hosts map.
	Name() string
	// Address is host:port as dialled, for messages.
	Address() string
	// Observe reports whether the host is in observe mode: nothing may change it.
	Observe() bool

	// Run runs one command. A non-zero status is *ExitError; a host that did not
	// answer, or a connection lost before the status came, is *UnreachableError;
	// an answer without the end marker is *OutputError. A command that changes
	// the host is refused with *ObserveError on a host in observe mode.
	Run(ctx context.Context, cmd shellcmd.Command) (Result, error)

	// Upload writes size bytes of r to path as root with mode, atomically: SFTP
	// into the user's staging directory, hash compared on the host, privileged
	// move. sha256 is lower-case hex of the content.
	Upload(ctx context.Context, r io.ReaderAt, size int64, file RemoteFile) error
	// Download copies a file that root can read to w and returns its size and
	// SHA-256 as the host computed it; the copy is verified against it.
	Download(ctx context.Context, path string, w io.Writer) (size int64, sha256 string, err error)

	// Fresh returns the same host over a new connection of its own, for proving
	// that the host can still be reached. The caller closes it.
	Fresh(ctx context.Context) (FreshHost, error)
	// Drop closes the present connection, so that the next command dials anew;
	// for use after a reboot was requested.
	Drop()
}

// FreshHost is a Host over its own connection.
type FreshHost interface {
	Host
	io.Closer
}

// RemoteFile is where and how a file is to be stored on a host.
type RemoteFile struct {
	Path   string // absolute
	Mode   uint32 // permission bits
	SHA256 string // lower-case hex of the content
}
