package opensm

import (
	"context"
	"errors"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/ib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Options tune the waiting; the zero value is what users get.
type Options struct {
	// ProofTimeout is how long the port may take to become Active; zero means
	// 60 seconds, which covers a takeover from another SM.
	ProofTimeout time.Duration
	// Poll is the pause between two looks; zero means half a second.
	Poll time.Duration
}

// Result is what Apply and Remove did.
type Result struct {
	Observed Observed // read back after the change
	Warnings []string // what the operator should know, one sentence each
	Left     []string // of Remove: what stays on the host, one sentence each
}

// Apply makes the port's SM what d says, now and at boot. It is safe to repeat.
func Apply(ctx context.Context, h *inventory.Host, d Desired, o Options) (Result, error) {
	return Result{}, errors.New("opensm: apply is being written")
}

// Remove stops the port's SM and takes away what Apply left, nothing else.
func Remove(ctx context.Context, h *inventory.Host, port ib.GUID, o Options) (Result, error) {
	return Result{}, errors.New("opensm: remove is being written")
}

// Observe reads from a snapshot what is on the host for one port.
func Observe(s *inventory.Snapshot, port ib.GUID) Observed { return Observed{} }
