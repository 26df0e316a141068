package host

import (
	"context"
	"sync/atomic"

	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// Note is a script that goes with the first command of a change, so that it costs no
// round trip of its own.
type Note struct {
	script shellcmd.Command
	sent   atomic.Bool
}

// Sent reports whether a command has taken the note with it.
func (n *Note) Sent() bool { return n.sent.Load() }

type noteKey struct{}

// WithNote has the first command that changes a host as root take the script with it.
// The script runs before the command, and nothing of it shows.
func WithNote(ctx context.Context, script shellcmd.Command) (context.Context, *Note) {
	n := &Note{script: script}
	return context.WithValue(ctx, noteKey{}, n), n
}

// Noted is the command with the note of ctx, if it is the first one to take it. Every
// implementation of Host calls it.
func Noted(ctx context.Context, cmd shellcmd.Command) shellcmd.Command {
	n, _ := ctx.Value(noteKey{}).(*Note)
	if n == nil || !cmd.Changing() || !cmd.Root() || n.sent.Swap(true) {
		return cmd
	}
	return cmd.After(n.script)
}
