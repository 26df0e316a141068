package change_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ibfabric/terraform-provider-infiniband/internal/host"
	"github.com/ibfabric/terraform-provider-infiniband/internal/hosts"
	"github.com/ibfabric/terraform-provider-infiniband/internal/ipoib/change"
	"github.com/ibfabric/terraform-provider-infiniband/internal/labsim"
	"github.com/ibfabric/terraform-provider-infiniband/internal/shellcmd"
)

// unreadHost cannot be read any more once a change of it was confirmed: so many looks fail.
type unreadHost struct {
	host.Host
	times     int
	confirmed bool
}

func (u *unreadHost) Fresh(ctx context.Context) (host.FreshHost, error) {
	fresh, err := u.Host.Fresh(ctx)
	return &unreadFresh{fresh, u}, err
}

func (u *unreadHost) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	if u.confirmed && slices.Contains(cmd.Argv(), "collect facts") && u.times > 0 {
		u.times--
		return host.Result{}, &host.UnreachableError{Host: u.Name(), Op: "run", MayHaveRun: true, Reading: true, Err: io.EOF}
	}
	return u.Host.Run(ctx, cmd)
}

type unreadFresh struct {
	host.FreshHost
	of *unreadHost
}

func (u *unreadFresh) Run(ctx context.Context, cmd shellcmd.Command) (host.Result, error) {
	r, err := u.FreshHost.Run(ctx, cmd)
	u.of.confirmed = u.of.confirmed || slices.Contains(cmd.Argv(), "forget-confirmed-change")
	return r, err
}

// The line is lost at the last read of a change that was confirmed. It is read once more, over a
// new connection. If that fails too, the error says what holds on the host.
func TestLab_Apply_lineLostAfterTheConfirmation(t *testing.T) {
	t.Parallel()
	for _, times := range []int{1, 1000} {
		l := stackLab(t, ifupdownCase())
		d := ubuntuDesired()
		h := hosts.New(&unreadHost{Host: l.hosts["intel9"].Host, times: times})
		r, err := change.Apply(t.Context(), h, d, change.Options{})
		var confirmed *change.ConfirmedError
		switch {
		case times == 1 && (err != nil || !r.Look.Satisfies(d.Config)):
			t.Errorf("one read failed: %v, %+v", err, r.Look)
		case times > 1 && !errors.As(err, &confirmed):
			t.Errorf("every read failed: %v", err)
		case times > 1:
			mustContain(t, confirmed.Explain(), "The change of ibp1s0 was made and confirmed", "could not be read",
				"the state does not show")
		}
		if diff := observe(t, l, d).Differences(d.Config); len(diff) > 0 {
			t.Errorf("on the host: %v", diff)
		}
	}
}

// The line is cut at the confirmation. If it has arrived, the change holds, and nothing says that
// it was undone. If it has not, it is undone, and nothing says that the host had begun that.
func TestLab_Apply_lineLostAtTheConfirmation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when  labsim.CutWhen
		holds bool
	}{{labsim.CutAfter, true}, {labsim.CutBefore, false}} {
		l := stackLab(t, ifupdownCase())
		d := ubuntuDesired()
		apply(t, l, d)
		next := d
		next.Config.Addresses = prefixes("172.16.9.20/24")
		l.Machine("intel9").Faults.Set(labsim.FaultSpec{ExecHolds: "exit 76", CutAtExec: 1, CutWhen: c.when})
		_, err := change.Apply(t.Context(), l.hosts["intel9"], next, change.Options{})
		var unconfirmed *change.UnconfirmedError
		switch {
		case c.holds && err != nil:
			t.Errorf("%s: %v", c.when, err)
		case !c.holds && (!errors.As(err, &unconfirmed) || !unconfirmed.Undone):
			t.Errorf("%s: %v", c.when, err)
		case !c.holds:
			mustContain(t, unconfirmed.Explain(), "The former configuration was restored", "its answer did not come")
			if strings.Contains(unconfirmed.Explain(), "has begun to undo") {
				t.Errorf("%s:\n%s", c.when, unconfirmed.Explain())
			}
		}
		l.hosts["intel9"].Invalidate()
		want := d
		if c.holds {
			want = next
		}
		if diff := observe(t, l, want).Differences(want.Config); len(diff) > 0 {
			t.Errorf("%s, on the host: %v", c.when, diff)
		}
		if left := l.snapshot(t, "intel9").Undos; len(left) > 0 {
			t.Errorf("%s: left %v", c.when, left)
		}
	}
}

// A host that is away for good after the confirmation was sent may have it or not.
func TestUnconfirmedError_mayHold(t *testing.T) {
	t.Parallel()
	e := &change.UnconfirmedError{Host: "a", Interface: "ibp1s0", Problem: "it could not be proved over a new connection",
		MayHold: true, UndoneBy: time.Unix(0, 0), Err: io.EOF, UndoErr: io.EOF}
	mustContain(t, e.Explain(), "If the confirmation has arrived, the change holds", "Run plan again after that")
	mustContain(t, e.Error(), "unless the confirmation has arrived")
	if strings.Contains(e.Explain(), "cut the connection") {
		t.Errorf("it looks for a cause in the change:\n%s", e.Explain())
	}
}
