package ipoib

import (
	"context"
	"errors"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/inventory"
)

// Options tune how a change is confirmed; the zero value is what users get.
type Options struct {
	// ConfirmTimeout is how long the host waits for the confirmation over a new
	// connection before it undoes the change by itself; zero means 90 seconds.
	ConfirmTimeout time.Duration
	// SettleTimeout is how long the interface may take to show what was
	// configured; zero means 15 seconds.
	SettleTimeout time.Duration
	// Poll is the pause between two looks; zero means 300 milliseconds.
	Poll time.Duration
}

// Result is what Apply and Remove did.
type Result struct {
	Observed Observed // read back after the change
	Warnings []string // what the operator should know, one sentence each
	Left     []string // of Remove: what stays on the host, one sentence each
}

// Apply makes the interface what d says, now and at boot. It is safe to repeat.
func Apply(ctx context.Context, h *inventory.Host, d Desired, o Options) (Result, error) {
	return Result{}, errors.New("ipoib: apply is being written")
}

// Remove takes away what Apply left on the host and nothing else.
func Remove(ctx context.Context, h *inventory.Host, d Desired, o Options) (Result, error) {
	return Result{}, errors.New("ipoib: remove is being written")
}
