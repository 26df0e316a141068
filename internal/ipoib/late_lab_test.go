package ipoib_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// meddledHost does something when a command begins with some words.
type meddledHost struct {
	host.Host
	words  []string
	meddle func(context.Context, shellcmd.Command)
}

func (m *meddledHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if argv := cmd.Argv(); len(argv) >= len(m.words) && slices.Equal(argv[:len(m.words)], m.words) {
		m.meddle(ctx, cmd)
	}
	return m.Host.Run(ctx, cmd)
}

func ifupdownCase() stackCase { return stackCases[len(stackCases)-1] }

// The network service takes an address away between the look at it and its removal.
func TestLab_Remove_addressThatGoesByItself(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase())
	d := ubuntuDesired()
	apply(t, l, d)
	met := 0
	h := hosts.New(&meddledHost{Host: l.hosts["intel9"].Host, words: []string{"ip", "addr", "del"}, meddle: func(ctx context.Context, cmd shellcmd.Command) {
		met++
		if _, err := l.hosts["intel9"].Host.Run(ctx, cmd); err != nil {
			t.Error(err)
		}
	}})
	if _, err := ipoib.Remove(t.Context(), h, d, ipoib.Options{}); err != nil || met == 0 {
		t.Errorf("remove, with %d addresses that were faster: %v", met, err)
	}
	nothingOfOurs(t, l)
}

// A step that hangs until the host has undone the change, as one does whose
// connection comes back with the former configuration: nothing of the change is
// done after it, by this provider or by what it had sent.
func TestLab_Apply_stepsEndBeforeTheUndo(t *testing.T) {
	t.Parallel()
	l := stackLab(t, ifupdownCase(), speed(2))
	d := ubuntuDesired()
	apply(t, l, d)
	change := d
	change.Config.Addresses = prefixes("172.16.9.20/24")
	var late shellcmd.Command
	h := hosts.New(&meddledHost{Host: l.hosts["intel9"].Host, words: []string{"ip", "addr", "del"}, meddle: func(ctx context.Context, cmd shellcmd.Command) {
		late = cmd
		<-ctx.Done()
	}})
	_, err := ipoib.Apply(t.Context(), h, change, ipoib.Options{ConfirmTimeout: 6 * time.Second, SettleTimeout: time.Second})
	var unconfirmed *ipoib.UnconfirmedError
	if !errors.As(err, &unconfirmed) {
		t.Fatalf("apply: %v", err)
	}
	mustContain(t, err.Error(), "no time is left before the host undoes the change")
	if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
		t.Errorf("not as before: %v", diff)
	}
	// While the decision is there, a late step does not run; it is checked by the
	// host, which knows nothing of this provider's time.
	dir := "/var/lib/terraform-provider-infiniband/undo/e41d2d0300e44e01/decided"
	runText(t, l, "mkdir -p "+dir)
	var exit *host.ExitError
	if _, err := l.hosts["intel9"].Host.Run(t.Context(), late); !errors.As(err, &exit) || exit.Status != 75 {
		t.Errorf("the late step: %v", err)
	}
	runText(t, l, "rm -r "+dir)
}
