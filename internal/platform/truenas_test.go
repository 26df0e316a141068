package platform

import (
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// A client that gave up says nothing of the restart that the middleware was asked for.
func TestNotTaken(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{"Call timeout\n": false, "[EPERM] Not allowed\n": true,
		"Failed to run middleware call. Daemon not running?\n": true} {
		if got := notTaken(t.Context(), nil, time.Now(), &host.ExitError{Stderr: said}); got != want {
			t.Errorf("%q: %t", said, got)
		}
	}
}
