package platform

import (
	"context"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
)

// The time that ran out is the last thing that a host which stays away has said.
func TestRebootError(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{
		"": `h: reboot failed in step "s" after 0s (limit 0s): context deadline exceeded`,
		"unable to connect: context deadline exceeded": `h: reboot failed in step "s" after 0s (limit 0s); last seen: ` +
			`unable to connect: context deadline exceeded`,
		"still the old boot": `h: reboot failed in step "s" after 0s (limit 0s); last seen: still the old boot: context deadline ` +
			`exceeded`,
	} {
		if got := (&RebootError{Host: "h", Step: "s", LastState: last, Err: context.DeadlineExceeded}).Error(); got != want {
			t.Errorf("%q", got)
		}
	}
}

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
