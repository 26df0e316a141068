package reboot

import (
	"context"
	"testing"
)

// The time that ran out is the last thing that a host which stays away has said.
func TestError_text(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{
		"": `h: reboot failed in step "s" after 0s (limit 0s): context deadline exceeded`,
		"unable to connect: context deadline exceeded": `h: reboot failed in step "s" after 0s (limit 0s); last seen: ` +
			`unable to connect: context deadline exceeded`,
		"still the old boot": `h: reboot failed in step "s" after 0s (limit 0s); last seen: still the old boot: context deadline ` +
			`exceeded`,
	} {
		if got := (&Error{Host: "h", Step: "s", LastState: last, Err: context.DeadlineExceeded}).Error(); got != want {
			t.Errorf("%q", got)
		}
	}
}
